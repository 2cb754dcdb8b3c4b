"""Admissions in other versions: while releases replace each other, requests for either version come to both."""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any

import pytest

import setpoint as sp
from setpoint.client import Invalid
from setpoint.crd import Versions
from setpoint.patch import json_patch
from setpoint.webhook import Admission, Match, ServiceTarget, Webhooks, configurations

API = "translated.example.com"
TARGET = ServiceTarget("hooks", "system")


class OldSpec(sp.Model):
    size: Annotated[int, sp.Field(ge=0)] = 1


class OldShop(sp.CustomResource, group=API, version="v1", kind="Shop"):
    spec: OldSpec = OldSpec()


class ShopSpec(sp.Model):
    replicas: Annotated[int, sp.Field(ge=0)] = 1
    owner: str = ""


class Shop(
    sp.CustomResource,
    group=API,
    version="v2",
    storage=False,
    conversions=(sp.Conversion(OldShop).rename("spec.size", "spec.replicas").add("spec.owner"),),
):
    spec: ShopSpec = ShopSpec()


def fill_in(shop: Shop) -> None:
    shop.spec.owner = shop.spec.owner or f"owner of {shop.spec.replicas}"


def grow(shop: Shop) -> None:
    shop.spec.replicas = max(2, shop.spec.replicas)


def check(shop: Shop, review: sp.Review[Shop]) -> None:
    if review.old is not None and shop.spec.replicas < review.old.spec.replicas:
        review.forbidden("spec.replicas", "a shop never shrinks")


admission = Admission(Shop).defaults(grow).defaults(fill_in).validates(check)


def shop(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{API}/{version}", "kind": "Shop", "metadata": {"name": "a", "namespace": "b"}, "spec": spec}


async def asked(served: Webhooks, path: str, new: Any, old: Any = None, *, version: str = "v1") -> dict[str, Any]:
    request = {
        "uid": "1",
        "kind": {"group": API, "version": version, "kind": "Shop"},
        "resource": {"group": API, "version": version, "resource": "shops"},
        "name": "a",
        "namespace": "b",
        "operation": "UPDATE" if old else "CREATE",
        "object": new,
        "oldObject": old,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    reply = await served.handle_review(path, json.dumps(review).encode())
    assert reply.status == 200, reply.body
    response: dict[str, Any] = json.loads(reply.body)["response"]
    return response


async def test_a_request_for_another_version_is_decided_and_patched_in_that_version() -> None:
    served = Webhooks(admission)
    sent = shop("v1", size=1, unknown="stays")
    answer = await asked(served, f"/mutate-{API.replace('.', '-')}-v1-shop", sent)
    patched = json_patch.apply(sent, json.loads(base64.b64decode(answer["patch"])))
    assert patched["spec"] == {"size": 2, "unknown": "stays"}
    again = Versions.of(Shop).convert(patched, "v2")
    assert again["spec"] == {"replicas": 2, "owner": "owner of 2", "unknown": "stays"}, "what v1 can't hold is kept"
    answer = await asked(served, f"/mutate-{API.replace('.', '-')}-v1-shop", patched)
    assert "patch" not in answer, "it is as it should be"


async def test_a_refusal_is_that_of_the_functions_or_of_the_schema_of_the_request() -> None:
    served = Webhooks(admission)
    path = f"/validate-{API.replace('.', '-')}-v1-shop"
    assert (await asked(served, path, shop("v1", size=3), shop("v1", size=3)))["allowed"]
    answer = await asked(served, path, shop("v1", size=2), shop("v1", size=3))
    assert (answer["allowed"], answer["status"]["message"]) == (
        False,
        f'Shop.{API} "a" is invalid: spec.replicas: Forbidden: a shop never shrinks',
    )
    answer = await asked(served, path, shop("v1", size=-1))
    assert [cause["field"] for cause in answer["status"]["details"]["causes"]] == ["spec.size"]
    answer = await asked(served, path, shop("v2", replicas=3), version="v2")
    assert "this webhook is for v1 of Shop, not for translated.example.com/v2" in answer["status"]["message"]


async def test_a_stored_value_that_does_not_fit_is_decided_by_the_function_in_another_version_too() -> None:
    served = Webhooks(Admission(Shop).defaults(fill_in).validates(check))
    for path in (f"/{role}-{API.replace('.', '-')}-v1-shop" for role in ("validate", "mutate")):
        assert (await asked(served, path, shop("v1", size=-3), shop("v1", size=-3)))["allowed"]
        refused = await asked(served, path, shop("v1", size=-4), shop("v1", size=-3))
        assert [cause["field"] for cause in refused["status"]["details"]["causes"]] == ["spec.size"]
    path = f"/validate-{API.replace('.', '-')}-v1-shop"
    refused = await asked(
        Webhooks(Admission(Shop).validates(lambda shop, review: review.deny("closed"))),
        path, shop("v1", size=-3), shop("v1", size=-3),
    )  # fmt: skip
    assert refused["status"]["message"] == "closed"


def test_the_version_that_is_stored_is_registered_whichever_is_the_class_s() -> None:
    for document in configurations([admission], API, TARGET):
        (entry,) = document["webhooks"]
        assert entry["rules"][0]["apiVersions"] == ["v1"]
        assert entry["clientConfig"]["service"]["path"].endswith("-v1-shop")
        assert entry["name"] in (f"mutate.shops.{API}", f"validate.shops.{API}"), "the same in every release"
    exact = Admission(Shop, match=Match(policy="Exact")).validates(check)
    (document,) = configurations([exact], API, TARGET)
    assert document["webhooks"][0]["rules"][0]["apiVersions"] == ["v2"]
    assert not [path for path in Webhooks(exact).paths if "v1" in path]


def test_admissions_of_two_versions_are_each_its_own() -> None:
    both = [admission, Admission(OldShop).validates(lambda shop: None)]
    for served in (both, both[::-1]):
        (document,) = [
            configuration
            for configuration in configurations(served, API, TARGET)
            if configuration["kind"].startswith("Valid")
        ]
        entries = {webhook["rules"][0]["apiVersions"][0]: webhook["name"] for webhook in document["webhooks"]}
        assert entries == {"v1": f"v1.validate.shops.{API}", "v2": f"v2.validate.shops.{API}"}
        assert len(Webhooks(*served).paths) == 4


@pytest.mark.parametrize("version", ["v1", "v2"])
@sp.testing.virtual_time
async def test_users_of_every_version_get_the_same_defaults_and_refusals(version: str) -> None:
    async with sp.testing.cluster(webhooks=[admission, Versions.of(Shop)]) as cluster:
        kind: Any = OldShop if version == "v1" else Shop
        new_kind = await cluster.apply(kind.named("a", "default"))
        stored = await cluster.get(Shop, "a")
        assert (stored.spec.replicas, stored.spec.owner) == (2, "owner of 2")
        assert (await cluster.get(OldShop, "a")).spec.size == 2
        new_kind = await cluster.get(kind, "a")
        setattr(new_kind.spec, "size" if version == "v1" else "replicas", 5)
        new_kind = await cluster.update(new_kind)
        setattr(new_kind.spec, "size" if version == "v1" else "replicas", 3)
        with pytest.raises(Invalid, match="a shop never shrinks"):
            await cluster.update(new_kind)
