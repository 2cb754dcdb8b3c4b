"""The page of a running operator in Chromium: a person finds out why an object is stuck, with or without a mouse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

import setpoint as sp
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.server_security import Security
from setpoint.manager import Manager, Serving
from setpoint.manager.leader_election.config import LeaderElection
from setpoint.models.core_v1 import ConfigMap, Secret

pytestmark = pytest.mark.browser
CHROMIUM = which("chromium") or which("google-chrome")
SHOWN = 30_000
"""Milliseconds for something to be shown on a busy machine."""


async def open_shop(shop: ConfigMap, ctx: sp.Context) -> sp.Outcome | None:
    mode = (shop.data or {}).get("mode", "")
    if mode == "broken":
        await ctx.list(ConfigMap)  # failures are one row although each has read something
        ctx.event("Warning", "TillMissing", "the till of this shop does not answer")
        raise ConnectionError("the till t9 can't be reached: connection refused")
    if mode == "wrong":
        raise sp.TerminalError("data.till names no till; change it")
    if mode == "late":
        ctx.event("Warning", "TillLate", "the till has not been counted since yesterday")
    elif mode:
        await ctx.apply(Secret.named(f"{shop.name}-key", shop.namespace, string_data={"key": "hush-hush"}))
    return sp.after(3600, "the till is counted again") if mode == "later" else None


def shop(name: str, mode: str = "") -> ConfigMap:
    return ConfigMap.named(name, "default", data={"mode": mode}, labels={"shop": "yes"})


@asynccontextmanager
async def operator(*, idle: int = 0, security: Security | None = None) -> AsyncIterator[tuple[EmbeddedCluster, str]]:
    """A running operator with shops in every state, and the address of its page."""
    async with EmbeddedCluster(control_plane=False, security=security) as cluster:
        for name, mode in (
            ("berlin", "open"),
            ("kathmandu", "broken"),
            ("lima", "wrong"),
            ("oslo", "later"),
            ("quito", "late"),
        ):
            await cluster.client.create(shop(name, mode))
        for number in range(idle):
            await cluster.client.create(shop(f"many-{number:05}"))
        held = shop("accra")
        held.metadata.finalizers = ["billing.example.com/invoices"]
        await cluster.client.create(held)
        await cluster.client.delete(ConfigMap, "accra", namespace="default")
        manager = Manager(
            cluster.client,
            controllers=[sp.Controller(ConfigMap, open_shop, name="shop", selector={"shop": "yes"}).owns(Secret)],
            leader_election=LeaderElection(name="shop", identity="this-pod", lease_duration=600, renew_deadline=500),
            serving=Serving(metrics_bind_address="127.0.0.1:0", ui=True),
        )
        async with manager:
            await manager.elected.wait()
            assert manager.metrics_server is not None
            yield cluster, f"http://127.0.0.1:{manager.metrics_server.port}/ui/"


@asynccontextmanager
async def browser(address: str, **options: Any) -> AsyncIterator[Any]:
    """A page of Chromium at that address, which asks no other server and logs no error."""
    from playwright.async_api import async_playwright

    assert CHROMIUM, "install Chromium, for example with apt-get install chromium"
    faults: list[str] = []
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await chromium.new_page(**options)
        page.set_default_timeout(SHOWN)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if line.type in ("error", "warning") else None)
        origin = address.partition("/ui/")[0]
        page.on("request", lambda item: None if item.url.startswith((origin, "data:")) else faults.append(item.url))
        await page.goto(address)
        yield page
        await chromium.close()
    assert not faults


async def rows(page: Any) -> list[list[str]]:
    """State and name of the listed objects."""
    listed = page.get_by_role("region", name="Objects, their states and the reasons").locator("tbody tr")
    return [(await row.inner_text()).replace("\n", "\t").split("\t")[:2] for row in await listed.all()]


async def test_why_an_object_is_stuck_is_on_the_first_page_and_two_clicks_say_everything() -> None:
    async with operator() as (cluster, address), browser(address) as page:
        await page.get_by_role("link", name="default/kathmandu").wait_for()
        for name in ("failed 1", "backing off 1", "being deleted 1", "warned 1", "waiting 1", "idle 1"):
            await page.get_by_role("button", name=name, exact=True).wait_for()
        assert await rows(page) == [
            ["failed", "default/lima"],
            ["backing off", "default/kathmandu"],
            ["being deleted", "default/accra"],
            ["warned", "default/quito"],
            ["waiting", "default/oslo"],
            ["idle", "default/berlin"],
        ]
        held = "waits for the finalizer billing.example.com/invoices, which no controller here is known to remove"
        await page.get_by_text(held).wait_for()
        await page.get_by_text("TillLate: the till has not been counted since yesterday").wait_for()
        await page.get_by_text("leads, by the lease default/shop").wait_for()
        await page.get_by_role("region", name="Caches, and how fresh they are").get_by_text("secrets").wait_for()

        await page.get_by_role("link", name="default/kathmandu").click()
        await page.get_by_role("heading", name="ConfigMap default/kathmandu").wait_for()
        assert await page.title() == "default/kathmandu – setpoint"
        await page.get_by_text("after ConnectionError: the till t9 can't be reached").first.wait_for()
        await page.get_by_text("the till of this shop does not answer").wait_for()
        await page.get_by_role("link", name="all objects").click()

        await page.get_by_role("link", name="default/berlin").click()
        picture = page.get_by_role("region", name="Owners and owned objects")
        await picture.get_by_role("listitem").get_by_text("berlin-key", exact=True).wait_for()
        assert await picture.locator("[aria-current=true]").inner_text() == "ConfigMap\nberlin\nidle"
        await page.get_by_text("0 reads, 1 write").last.click()
        await page.get_by_text("apply Secret default/berlin-key: created").wait_for()
        assert "hush-hush" not in await page.content(), "what a Secret holds is not shown"

        # It is live: what a user mends is seen without a reload.
        await page.go_back()
        await page.get_by_role("link", name="default/lima").click()
        await page.get_by_text("data.till names no till; change it").first.wait_for()
        await cluster.client.patch(ConfigMap, "lima", {"data": {"mode": "open"}}, namespace="default")
        await page.get_by_role("status").get_by_text("idle", exact=True).wait_for()


async def test_failures_that_repeat_are_one_row() -> None:
    async with operator() as (_, address), browser(address) as page:
        await page.get_by_role("link", name="default/kathmandu").click()
        again = page.get_by_text("times before, since")
        await again.click()
        await page.get_by_text(", because of retry, took ").first.wait_for()
        attempts = page.get_by_role("region", name="Last reconciles, the newest first").locator("tbody tr")
        assert await attempts.count() == 1
        await page.get_by_text("1 read, 0 writes").first.click()


async def test_a_timeline_says_what_happened_when_to_pointers_and_keys_and_leads_to_its_row() -> None:
    async with operator() as (_, address), browser(address) as page:
        await page.get_by_role("link", name="default/kathmandu").click()
        strip = page.get_by_role("toolbar", name="Marks of the timeline")
        await strip.locator(".mark.waits").first.hover()
        await page.locator("p").get_by_text("back-off of ").wait_for()
        await strip.locator(".mark.reconciles").first.click()
        assert (await page.evaluate("document.activeElement.id")).startswith("attempt-")
        await page.locator("p").get_by_text("reconcile, error: ConnectionError: the till t9").wait_for()
        await page.keyboard.press("Escape")

        await page.get_by_role("link", name="default/lima").click()
        marks = strip.get_by_role("button")
        await marks.last.focus()
        assert await strip.locator("[tabindex='0']").count() == 1, "Tab stops once"
        await page.keyboard.press("Home")
        await page.locator("p").get_by_text("reconcile, error: TerminalError: data.till").wait_for()
        await page.keyboard.press("ArrowRight")
        await page.locator("p").get_by_text("event TerminalError: data.till names no till").wait_for()
        await page.keyboard.press("Enter")
        assert (await page.evaluate("document.activeElement.id")).startswith("event-")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_no_fault(scheme: str) -> None:
    from axe_playwright_python.async_playwright import Axe

    async with operator() as (_, address), browser(address, color_scheme=scheme) as page:
        for name in ("", "default/kathmandu", "default/berlin"):
            if name:
                await page.get_by_role("link", name=name).click()
                await page.get_by_role("heading", name=name).wait_for()
                await page.get_by_text(" means: ").wait_for()
            else:
                await page.get_by_role("link", name="default/oslo").wait_for()
            result = await Axe().run(page)
            assert result.violations_count == 0, result.generate_report()
            if name:
                await page.get_by_role("link", name="all objects").click()
                await page.get_by_role("link", name="default/oslo").wait_for()


async def test_a_narrow_window_has_no_page_that_scrolls_sideways() -> None:
    async with operator() as (_, address), browser(address, viewport={"width": 360, "height": 640}) as page:
        for _ in range(2):
            await page.get_by_role("link", name="default/kathmandu").wait_for()
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("link", name="default/kathmandu").click()
        await page.get_by_text(" means: ").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_everything_can_be_done_with_the_keyboard() -> None:
    async with operator() as (_, address), browser(address) as page:
        await page.get_by_role("link", name="default/oslo").wait_for()
        await page.keyboard.press("/")
        await page.keyboard.type("KATH")
        await page.get_by_role("button", name="all 1", exact=True).wait_for()
        assert await rows(page) == [["backing off", "default/kathmandu"]]
        while await page.evaluate("document.activeElement.textContent") != "default/kathmandu":
            await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.get_by_text(" means: ").wait_for()
        assert await page.evaluate("document.activeElement.id") == "object", "a screen reader begins with the heading"
        await page.keyboard.press("Escape")
        await page.get_by_role("link", name="default/kathmandu").wait_for()
        await page.keyboard.press("p")
        await page.get_by_text("paused at").wait_for()


async def test_what_a_person_opens_stays_open_while_the_page_is_live() -> None:
    async with operator() as (_, address), browser(address) as page:
        for name, words in (("berlin", "0 reads, 1 write"), ("kathmandu", "before, since")):
            await page.get_by_role("link", name=f"default/{name}").click()
            opened = page.locator("details").filter(has_text=words).first
            await opened.locator("> summary").click()
            for _ in range(2):
                await page.wait_for_event("response", lambda item: "/debug/details" in item.url)
            assert await opened.get_attribute("open") is not None
            await page.keyboard.press("Escape")


async def test_enter_opens_the_only_object_that_is_found_and_escape_goes_back() -> None:
    async with operator() as (_, address), browser(address) as page:
        await page.get_by_role("link", name="default/oslo").wait_for()
        await page.keyboard.press("/")
        await page.keyboard.type("KATH")
        await page.get_by_role("button", name="all 1", exact=True).wait_for()
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="ConfigMap default/kathmandu").wait_for()
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="all 1", exact=True).wait_for()
        await page.get_by_label("Find by namespace or name").press("Escape")
        assert await page.evaluate("document.activeElement.id") != "find"


async def test_an_operator_that_does_not_answer_any_more_is_not_taken_for_a_quiet_one() -> None:
    async with operator() as (_, address), browser_without_errors(address) as page:
        await page.get_by_text("live", exact=True).wait_for()
        await page.route("**/debug/**", lambda route: route.abort())
        gone = page.get_by_text("The operator does not answer: it has been stopped, or the way to it")
        await gone.wait_for()
        await page.get_by_text("not live: last answer at").wait_for()
        await page.unroute("**/debug/**")
        await page.get_by_text("live", exact=True).wait_for()
        await gone.wait_for(state="detached")
        await page.route("**/debug/**", lambda route: route.fulfill(status=401, body="a token is required"))
        await page.get_by_label("Bearer token").fill("secret-token")
        await page.unroute("**/debug/**")
        sent: list[str | None] = []
        page.on("request", lambda item: sent.append(item.headers.get("authorization")))
        await page.get_by_role("button", name="Look").click()
        await page.get_by_role("link", name="default/oslo").wait_for()
        assert "Bearer secret-token" in sent


async def test_the_content_of_an_object_is_shown_to_those_who_may_read_it(tmp_path: Path) -> None:
    from axe_playwright_python.async_playwright import Axe

    tokens = tmp_path / "tokens.csv"
    tokens.write_text('adas,ada,1,"system:masters"\nbobs,bob,2\n')
    secure = Security(auth=True, token_auth_file=tokens)
    async with operator(security=secure) as (_, address), browser_without_errors(address) as page:
        await page.get_by_role("link", name="default/oslo").click()
        shown = page.get_by_role("button", name="Show as YAML")
        await shown.click()
        await page.get_by_label("Bearer token").fill("bobs")
        await page.get_by_role("button", name="Look").click()
        await page.get_by_text("bob may not get configmaps default/oslo").wait_for()
        await page.reload()
        await shown.click()
        await page.get_by_label("Bearer token").fill("adas")
        await page.get_by_role("button", name="Look").click()
        await page.get_by_role("region", name="As YAML").get_by_text("mode: later").wait_for()
        await page.get_by_text("Not shown: managed fields.").wait_for()
        result = await Axe().run(page)
        assert result.violations_count == 0, result.generate_report()
        await page.get_by_role("button", name="Hide the YAML").click()
        await page.get_by_text("mode: later").wait_for(state="detached")


@asynccontextmanager
async def browser_without_errors(address: str) -> AsyncIterator[Any]:
    """As `browser`; requests may fail."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        assert CHROMIUM
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await chromium.new_page()
        page.set_default_timeout(SHOWN)
        await page.goto(address)
        yield page
        await chromium.close()


async def test_ten_thousand_objects_are_found_among_at_once() -> None:
    async with operator(idle=10_000) as (_, address), browser(address) as page:
        await page.get_by_text("100 objects of 10,006 are shown").wait_for()
        await page.get_by_role("button", name="failed 1", exact=True).click()
        await page.get_by_role("link", name="default/oslo").wait_for(state="detached")
        assert await rows(page) == [["failed", "default/lima"]]
        await page.get_by_role("button", name="all 10,006", exact=True).click()
        await page.get_by_label("Find by namespace or name").fill("many-07777")
        await page.get_by_role("button", name="all 1", exact=True).wait_for()
        assert await rows(page) == [["idle", "default/many-07777"]]


def pictures(folder: Path) -> None:
    """Writes the pictures of the docs: `python -m tests.manager.test_ui_browser docs/dashboard`."""

    async def take() -> None:
        async with (
            operator() as (_, address),
            browser(address, viewport={"width": 960, "height": 560}, reduced_motion="reduce") as page,
        ):
            await page.get_by_role("link", name="default/oslo").wait_for()
            await page.wait_for_timeout(6000)
            await page.screenshot(path=folder / "objects.png")
            await page.get_by_role("link", name="default/kathmandu").click()
            await page.get_by_text(" means: ").wait_for()
            await page.wait_for_timeout(3000)
            await page.screenshot(path=folder / "stuck.png", full_page=True)
            await page.keyboard.press("Escape")
            await page.get_by_role("link", name="default/berlin").click()
            await page.get_by_text("0 reads, 1 write").last.click()
            await page.wait_for_timeout(3000)
            await page.screenshot(path=folder / "owned.png", full_page=True)

    asyncio.run(take())


if __name__ == "__main__":
    import sys

    pictures(Path(sys.argv[1]))
