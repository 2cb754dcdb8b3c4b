"""The page of an embedded cluster in Chromium: why a Deployment is stuck, and what changed in an object."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.manager.test_ui_browser import browser, browser_without_errors

from setpoint.client import Client, PatchType
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.meta import from_wire
from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Namespace,
    PersistentVolumeClaimVolumeSource,
    Pod,
    ResourceQuota,
    Secret,
    Volume,
)

from .workloads import claim, selector, template

pytestmark = pytest.mark.browser


def deployment(name: str, replicas: int, **spec: Any) -> Deployment:
    wanted = DeploymentSpec(replicas=replicas, selector=selector(name), template=template(app=name, **spec))
    return Deployment.named(name, "default", spec=wanted)


@asynccontextmanager
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """A cluster with a Deployment that is well, one that no node is for, and a Secret that was changed."""
    async with EmbeddedCluster(ui="127.0.0.1:0") as embedded:
        await embedded.client.create(deployment("web", 2))
        await embedded.client.create(deployment("stuck", 3, node_selector={"disk": "fast"}))
        await embedded.client.create(Secret.named("till", "default", string_data={"key": "hush-hush"}))
        await embedded.client.patch(Secret, "till", {"stringData": {"key": "not-again"}}, namespace="default")
        yield embedded


def link(page: Any, name: str) -> Any:
    return page.get_by_role("link", name=name, exact=True)


async def test_two_clicks_lead_from_a_cluster_to_the_reason_for_which_a_deployment_is_stuck() -> None:
    async with cluster() as embedded, browser(embedded.page_url) as page:
        await link(page, "default/stuck").click()
        await page.get_by_role("heading", name="Deployment default/stuck").wait_for()
        reason = page.get_by_text("and 2 more like it: no node fits it: of 1 node, 1 does not have the labels")
        await reason.wait_for()
        await (
            page.get_by_role("region", name="Wanted fields, and the fields that are there")
            .get_by_text("differs")
            .first.wait_for()
        )
        await page.get_by_role("link", name="deployment-controller").click()
        await page.get_by_text(" means: ").wait_for()
        assert await page.title() == "default/stuck – setpoint"

        # It moves: what a user mends is seen without a reload.
        await page.go_back()
        body = {"spec": {"template": {"spec": {"nodeSelector": None}}}}
        await embedded.client.patch(Deployment, "stuck", body, namespace="default", type=PatchType.MERGE)
        await page.get_by_role("status").get_by_text("current", exact=True).wait_for()
        await page.get_by_text("spec.template.spec.nodeSelector").first.wait_for(state="attached")


async def test_the_picture_leads_from_a_deployment_to_its_pods_and_back() -> None:
    async with cluster() as embedded, browser(embedded.page_url) as page:
        await link(page, "default/stuck").click()
        picture = page.get_by_role("region", name="Owners and owned objects")
        await picture.get_by_text("no node fits it").first.wait_for()
        await picture.get_by_role("link").last.click()
        await page.get_by_role("heading", name="Pod default/stuck-").wait_for()
        assert await picture.locator(".kind").all_inner_texts() == ["Deployment", "ReplicaSet", "Pod"]
        assert (await picture.locator("[aria-current=true]").inner_text()).startswith("Pod\nstuck-")
        await picture.get_by_role("link", name="stuck", exact=True).click()
        await page.get_by_role("heading", name="Deployment default/stuck").wait_for()

        await page.get_by_role("link", name="all objects").click()
        await embedded.client.patch(Deployment, "web", {"spec": {"replicas": 8}}, namespace="default")
        await page.get_by_label("Find by kind, namespace or name").fill("default/web")
        await link(page, "default/web").click()
        many = picture.locator("summary").get_by_text("8 × Pod")
        await many.click()
        await picture.get_by_role("link", name=re.compile("web-")).nth(8).wait_for()


async def test_the_first_screen_leads_from_a_pod_to_its_claim_which_says_its_last_warning() -> None:
    asks = claim("data")
    asks.metadata.namespace, asks.spec.storage_class_name = "default", "fast-ssd"
    volume = Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data"))
    async with cluster() as embedded, browser(embedded.page_url, timezone_id="Asia/Kathmandu") as page:
        await embedded.client.create(asks)
        await embedded.client.create(Pod.named("db", "default", spec=template(volumes=[volume]).spec))
        listed = page.get_by_role("region", name="Objects, their states and the reasons")
        await listed.get_by_text("Deployment, 0 of 3 ready").wait_for()
        waits = listed.get_by_role("row").filter(has=link(page, "default/db"))
        await waits.get_by_text("ProvisioningFailed: StorageClass fast-ssd does not exist").wait_for()
        await waits.get_by_role("link", name="default/data").click()

        await page.get_by_role("heading", name="PersistentVolumeClaim default/data apiVersion v1").wait_for()
        row = page.get_by_role("row").filter(has=link(page, "persistentvolume-controller"))
        await row.get_by_text("warned", exact=True).wait_for()
        event = (
            page.get_by_role("region", name="Events about it").get_by_role("row").filter(has_text="ProvisioningFailed")
        )
        await event.get_by_text(" ago").wait_for()
        full = await event.get_by_role("time").get_attribute("title")
        assert full is not None
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+5:45", full)
        await event.get_by_text(full).wait_for()


async def test_one_row_tells_the_problem_of_a_rollout_and_what_it_names_is_a_link() -> None:
    from axe_playwright_python.async_playwright import Axe

    quota = {"metadata": {"name": "team", "namespace": "default"}, "spec": {"hard": {"pods": "1"}}}
    async with EmbeddedCluster(ui="127.0.0.1:0") as embedded, browser(embedded.page_url) as page:
        await embedded.client.create(from_wire(ResourceQuota, quota))
        await embedded.client.create(deployment("shop", 2))
        listed = page.get_by_role("region", name="Objects, their states and the reasons")
        row = listed.get_by_role("row").filter(has_text="failed")
        await row.get_by_text("its pods can't be created: ResourceQuota team does not allow").wait_for()
        assert await row.count() == 1
        await row.get_by_role("link", name="ResourceQuota team").click()
        await page.get_by_role("heading", name="ResourceQuota default/team").wait_for()
        await page.get_by_text("holds up:").wait_for()
        await link(page, "default/shop").wait_for()
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            result = await Axe().run(page)
            assert result.violations_count == 0, result.generate_report()
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="paused").wait_for(state="detached")


async def test_a_name_without_an_object_leads_to_the_list_of_its_kind_and_back_to_all() -> None:
    async with cluster() as embedded, browser(embedded.page_url) as page:
        await page.get_by_role("link", name="1 node").first.click()
        only = page.get_by_role("button", name="only nodes")
        await only.wait_for()
        await link(page, "hollow-0").wait_for()
        await only.click()
        await link(page, "default/stuck").wait_for()


async def test_the_name_of_an_object_that_does_not_exist_leads_to_a_page_that_says_who_wants_it() -> None:
    asks = claim("reports")
    asks.spec.storage_class_name = "fast"
    async with EmbeddedCluster(ui="127.0.0.1:0") as embedded, browser(embedded.page_url) as page:
        await embedded.client.create(asks)
        volume = Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="reports"))
        await embedded.client.create(Pod.named("reporter", "default", spec=template(volumes=[volume]).spec))
        await page.get_by_role("link", name="StorageClass fast").first.click()
        await page.get_by_text("StorageClass fast does not exist").wait_for()
        await page.get_by_text("wanted by:").wait_for()
        await link(page, "default/reporter").wait_for()


async def test_yaml_and_changes_are_shown_and_what_secrets_hold_is_not() -> None:
    async with cluster() as embedded, browser(embedded.page_url) as page:
        await link(page, "default/till").click()
        await page.get_by_text("the content of a Secret: its data and annotations are (hidden)").wait_for()
        await page.get_by_text('key: "(hidden)"').wait_for()
        await page.get_by_text("1 field changed").wait_for()
        seen = await page.content()
        for secret in ("hush-hush", "aHVzaC1odXNo", "not-again", "bm90LWFnYWlu"):
            assert secret not in seen
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="ConfigMap").click()
        await page.get_by_role("button", name="only configmaps").wait_for()
        await link(page, "default/web").wait_for(state="detached")
        await page.get_by_role("button", name="only configmaps").click()
        await page.get_by_label("Find by kind, namespace or name").fill("deploy web")
        await page.get_by_role("button", name="all 1", exact=True).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_no_fault_in_a_cluster(scheme: str) -> None:
    from axe_playwright_python.async_playwright import Axe

    async with cluster() as embedded, browser(embedded.page_url, color_scheme=scheme) as page:
        for name in ("", "default/stuck", "default/till"):
            if name:
                await link(page, name).click()
                await page.get_by_role("heading", name="As YAML").wait_for()
            else:
                await page.get_by_role("button", name="Deployment").wait_for()
                await page.get_by_text("with it: ").click()
            result = await Axe().run(page)
            assert result.violations_count == 0, result.generate_report()
            if name:
                await page.keyboard.press("Escape")
                await link(page, "default/till").wait_for()


@pytest.mark.parametrize("width", [360, 390])
async def test_a_phone_needs_no_scrolling_sideways_in_a_cluster(width: int) -> None:
    size = {"width": width, "height": 640}
    async with cluster() as embedded, browser(embedded.page_url, viewport=size) as page:
        await page.get_by_text("with it: ").click()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await link(page, "default/stuck").click()
        await page.get_by_role("heading", name="As YAML").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_the_reasons_of_objects_are_in_sight_on_a_phone() -> None:
    async with cluster() as embedded, browser(embedded.page_url, viewport={"width": 360, "height": 640}) as page:
        row = page.get_by_role("row").filter(has_text="no node fits it").first
        await row.wait_for()
        box = await row.get_by_text("no node fits it").first.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


async def test_an_object_is_found_and_read_with_the_keyboard() -> None:
    async with cluster() as embedded, browser(embedded.page_url) as page:
        await link(page, "default/stuck").wait_for()
        await page.keyboard.press("/")
        await page.keyboard.type("secrets TILL")
        await page.get_by_role("button", name="all 1", exact=True).wait_for()
        while await page.evaluate("document.activeElement.textContent") != "default/till":
            await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="As YAML").wait_for()
        assert await page.evaluate("document.activeElement.id") == "object"
        while await page.evaluate("document.activeElement.tagName") != "PRE":  # it scrolls with the arrow keys
            await page.keyboard.press("Tab")
        await page.keyboard.press("Escape")
        await link(page, "default/till").wait_for()


async def test_a_cluster_that_ends_and_comes_back_is_shown_again_and_lost_objects_are_named() -> None:
    async with EmbeddedCluster(ui="127.0.0.1:0", control_plane=False) as first:
        await first.client.create(ConfigMap.named("mine", "default"))
        address = first.page_url
        async with browser_without_errors(address) as page:
            await link(page, "default/mine").click()
            await page.get_by_role("heading", name="As YAML").wait_for()
            await first.__aexit__(None, None, None)
            gone = page.get_by_text("The cluster does not answer: it has been stopped, or the way to it")
            await gone.wait_for()
            await page.get_by_text("not live: last answer at").wait_for()
            assert "fetch" not in await page.get_by_role("alert").inner_text()
            place = address.removeprefix("http://").partition("/")[0]
            async with EmbeddedCluster(ui=place, control_plane=False):
                await page.get_by_text("live", exact=True).wait_for()
                await page.get_by_text("ConfigMap default/mine does not exist").wait_for()
                await gone.wait_for(state="detached")


async def stuck_objects(client: Client) -> None:
    """Makes objects that are stuck, each for another reason, and waits until the controllers have met them."""
    for name in ("shop", "data", "old-project"):
        await client.create(Namespace.named(name))
    quota = {"metadata": {"name": "team-limit", "namespace": "shop"}, "spec": {"hard": {"requests.cpu": "2"}}}
    await client.create(from_wire(ResourceQuota, quota))
    main = {"name": "main", "image": "shop/checkout:3", "resources": {"requests": {"cpu": "500m"}}}
    for place, name, replicas, spec, notes in (
        ("shop", "checkout", 5, {"containers": [main]}, {}),
        ("data", "recommender", 2, {"containers": [{"name": "main", "image": "recommender:1"}],
                                    "nodeSelector": {"accelerator": "gpu"}}, {}),
        ("default", "web", 1, {"containers": [{"name": "main", "image": "web:1"}]},
         {"hollow.setpoint.io/exit-code": "1"}),
    ):  # fmt: skip
        pods = {"metadata": {"labels": {"app": name}, "annotations": notes}, "spec": spec}
        wanted = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pods}
        await client.create(from_wire(Deployment, {"metadata": {"name": name, "namespace": place}, "spec": wanted}))
    asks = claim("reports")
    asks.metadata.namespace, asks.spec.storage_class_name = "data", "fast-ssd"
    await client.create(asks)
    volume = Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="reports"))
    await client.create(Pod.named("reporter", "data", spec=template(volumes=[volume]).spec))
    held = ConfigMap.named("last-year", "old-project")
    held.metadata.finalizers = ["backup.example.com/archive"]
    await client.create(held)
    await client.delete(Namespace, "old-project")


def pictures(folder: Path) -> None:
    """Writes the pictures of the docs: `python -m tests.cluster.test_object_browser_page docs/dashboard`."""

    async def take() -> None:
        size = {"width": 960, "height": 760}
        async with EmbeddedCluster(ui="127.0.0.1:0") as embedded:
            await stuck_objects(embedded.client)
            async with browser(embedded.page_url, viewport=size) as page:
                await page.get_by_text("StorageClass fast-ssd does not exist").wait_for()
                await page.get_by_text("ResourceQuota team-limit").first.wait_for()
                await page.get_by_text("CrashLoopBackOff").first.wait_for()
                await page.screenshot(path=folder / "cluster.png")
                await link(page, "shop/checkout").click()
                await page.get_by_role("link", name="ResourceQuota team-limit").wait_for()
                await page.screenshot(path=folder / "stored.png", full_page=True)
                await page.get_by_role("link", name="ResourceQuota team-limit").first.click()
                await page.get_by_role("heading", name="As YAML").wait_for()
                await page.screenshot(path=folder / "cause.png")

    asyncio.run(take())


if __name__ == "__main__":
    import sys

    pictures(Path(sys.argv[1]))
