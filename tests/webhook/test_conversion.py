"""ConversionReviews: all or nothing, in order, and never waiting."""

from __future__ import annotations

import asyncio
import builtins
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.crd import Conversion, ConversionError, CustomResource, Versions
from setpoint.meta import GroupKind, Model
from setpoint.webhook import Webhooks

from .mykind import Mykind, encoded, mykind_admission

GROUP = "grp.example.com"


class Renames:
    """``numpods`` of v1alpha1 is ``replicas`` of v1alpha2; what some tests do is wrong on purpose."""

    group_kind = GroupKind("grp.example.com", "Mykind")
    classes = (Mykind,)
    versions = ("v1alpha1", "v1alpha2")

    def convert(self, document: dict[str, Any], to_version: str) -> dict[str, Any]:
        spec = dict(document["spec"])
        if "fail" in spec:
            raise KeyError(spec["fail"])
        source, target = ("numpods", "replicas") if to_version == "v1alpha2" else ("replicas", "numpods")
        if source in spec:
            spec[target] = spec.pop(source)
        metadata = {**document["metadata"], **spec.pop("metadata", {})}
        version = spec.pop("gives", to_version)
        return {**document, "apiVersion": f"{GROUP}/{version}", "metadata": metadata, "spec": spec}


def mykind(name: str, version: str = "v1alpha1", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Mykind", "metadata": metadata, "spec": spec}


def asking(objects: Any, version: str = "v1alpha2") -> bytes:
    desired = f"{GROUP}/{version}"
    request = {"uid": "705ab4f5", "desiredAPIVersion": desired, "objects": objects}
    return encoded({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request})


async def answer(body: bytes) -> dict[str, Any]:
    reply = await Webhooks(Renames(), mykind_admission()).handle_review("/convert?timeout=30s", body)
    assert reply.status == 200, reply
    document = json.loads(reply.body)
    assert (document["kind"], document["apiVersion"]) == ("ConversionReview", "apiextensions.k8s.io/v1")
    response: dict[str, Any] = document["response"]
    assert response["uid"] == "705ab4f5"
    return response


async def test_every_object_is_converted_in_order() -> None:
    objects = [mykind(f"m{i}", numpods=i, unknown=[None]) for i in range(200)] + [mykind("done", "v1alpha2")]
    response = await answer(asking(objects))
    assert response["result"] == {"status": "Success"}
    converted = [mykind(f"m{i}", "v1alpha2", replicas=i, unknown=[None]) for i in range(200)]
    assert response["convertedObjects"] == [*converted, mykind("done", "v1alpha2")]
    back = await answer(asking(response["convertedObjects"][:200], "v1alpha1"))
    assert back["convertedObjects"] == objects[:200]


@pytest.mark.parametrize(
    ("bad", "version", "says"),
    [
        (mykind("m", fail="oops"), "v1alpha2", "Mykind default/m: its conversion from grp.example.com/v1alpha1 to grp.example.com/v1alpha2 failed; the webhook's log has the reason"),  # noqa: E501
        (mykind("m", "v9"), "v1alpha2", "Mykind default/m: there is no version v9 of Mykind.grp.example.com, only v1alpha1, v1alpha2"),  # noqa: E501
        (mykind("m"), "v9", "Mykind default/m: there is no version v9 of Mykind.grp.example.com"),
        ({**mykind("m"), "kind": "Other"}, "v1alpha2", "Other default/m: no conversion for Other of grp.example.com/v1alpha1 is served, only Mykind.grp.example.com"),  # noqa: E501
        ({**mykind("m"), "apiVersion": "x.example.com/v1alpha1"}, "v1alpha2", "no conversion for Mykind of x.example.com"),  # noqa: E501
        (mykind("m", metadata={"name": "n"}), "v1alpha2", "Mykind default/m: its conversion to grp.example.com/v1alpha2 changed metadata.name; only labels"),  # noqa: E501
        (mykind("m", metadata={"finalizers": ["x"]}), "v1alpha2", "changed metadata.finalizers"),
        (mykind("m", gives="v1"), "v1alpha2", "its conversion returned 'grp.example.com/v1' instead of 'grp.example.com/v1alpha2'"),  # noqa: E501
        ("text", "v1alpha2", "object 1 of the request is not an object but str"),
        ({"kind": "Mykind"}, "v1alpha2", "object 1 of the request lacks apiVersion, kind or metadata"),
    ],
)  # fmt: skip
async def test_one_that_fails_fails_all_by_name(bad: Any, version: str, says: str) -> None:
    response = await answer(asking([mykind("good"), bad] if version != "v9" else [bad], version))
    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    assert says in response["result"]["message"]


class Secretive(Renames):
    """Fails with a secret in its message, or makes an object that can't be sent."""

    def convert(self, document: dict[str, Any], to_version: str) -> dict[str, Any]:
        match document["spec"]:
            case {"raises": name}:
                raise getattr(builtins, name)("password=hunter2")
            case {"refuses": _}:
                try:
                    raise ValueError("password=hunter2")
                except ValueError as problem:
                    raise ConversionError(f"spec.token: {problem}") from problem
            case {"half": _}:
                return {**document, "apiVersion": f"{GROUP}/{to_version}", "spec": {"password=hunter2": "\udc80"}}
        return {**document, "apiVersion": f"{GROUP}/{to_version}", "spec": {"password=hunter2": object()}}


@pytest.mark.parametrize(
    "spec", [{"raises": "RuntimeError"}, {"raises": "SystemExit"}, {"refuses": True}, {"half": True}, {"object": True}]
)
async def test_what_a_conversion_raises_is_for_the_log_alone(
    spec: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    webhooks = Webhooks(Secretive())
    reply = await webhooks.handle_review("/convert?timeout=30s", asking([mykind("m", **spec)]))
    assert b"hunter2" not in reply.body
    assert b"log has the reason" in reply.body
    (record,) = caplog.records
    assert record.exc_info
    assert reply.status == (500 if spec.get("raises") == "SystemExit" else 200)
    assert webhooks.metrics.conversion_panics + webhooks.metrics.panics == 1


async def test_labels_and_annotations_may_change() -> None:
    response = await answer(asking([mykind("m", metadata={"labels": {"a": "b"}, "annotations": {"kept": "{}"}})]))
    assert response["convertedObjects"][0]["metadata"]["annotations"] == {"kept": "{}"}


async def test_exceptions_are_counted_as_conversions() -> None:
    webhooks = Webhooks(Renames())
    await webhooks.handle_review("/convert", asking([mykind("m", fail="x")]))
    await webhooks.handle_review("/convert", asking([mykind("m", "v9")]))
    assert (webhooks.metrics.conversion_panics, webhooks.metrics.panics) == (1, 0)


async def test_long_lists_let_others_have_their_turn() -> None:
    webhooks = Webhooks(Renames())
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await webhooks.handle_review("/convert", asking([mykind(f"m{i}", numpods=i) for i in range(1000)]))
    counting.cancel()
    assert turns >= 10


def test_two_converters_of_one_kind_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"two converters for Mykind\.grp\.example\.com"):
        Webhooks(Renames(), Renames())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"x"}}',
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","request":{"uid":"x"}}',
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}',
        asking("x"),
        asking([]).replace(b"705ab4f5", b""),
        asking([mykind("m")]).replace(b'"spec":{}', b'"spec":' + b"[" * 100_000),
    ],
)
async def test_garbage_is_a_bad_request(body: bytes) -> None:
    reply = await Webhooks(Renames()).handle_review("/convert", body)
    assert (reply.status, json.loads(reply.body)["code"]) == (400, 400)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_body_whatever_raises(data: st.DataObject) -> None:
    whole = asking([mykind("m", numpods=1), mykind("n", "v1alpha2")])
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    junk = data.draw(st.binary(max_size=8) | st.sampled_from([b"null", b"{}", b'"', b"[[", b"\xed\xa0"]))
    webhooks = Webhooks(Renames())
    reply = asyncio.run(webhooks.handle_review("/convert", whole[:start] + junk + whole[end:]))
    assert reply.status in (200, 400)
    assert webhooks.metrics.panics == 0
    json.loads(reply.body)


class OldSpec(Model):
    numpods: int = 1


class NewSpec(Model):
    replicas: int = 1
    pool: str = ""


class Old(CustomResource, group="v.example.com", version="v1alpha1", kind="Versioned", storage=False):
    spec: OldSpec = OldSpec()


class New(
    CustomResource,
    group="v.example.com",
    version="v1alpha2",
    kind="Versioned",
    conversions=(Conversion(Old).rename("spec.numpods", "spec.replicas").add("spec.pool"),),
):
    spec: NewSpec = NewSpec()


async def test_the_versions_of_a_class_are_served() -> None:
    webhooks = Webhooks(Versions.of(New))
    metadata = {"name": "m", "namespace": "default", "uid": "u"}
    new = {
        "apiVersion": "v.example.com/v1alpha2",
        "kind": "Versioned",
        "metadata": metadata,
        "spec": {"replicas": 3, "pool": "a"},
    }

    async def converted(document: Any, version: str) -> Any:
        request = {"uid": "1", "desiredAPIVersion": f"v.example.com/{version}", "objects": [document]}
        review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}
        reply = await webhooks.handle_review("/convert", encoded(review))
        return json.loads(reply.body)["response"]

    old = (await converted(new, "v1alpha1"))["convertedObjects"][0]
    assert old["spec"] == {"numpods": 3}
    assert (await converted(old, "v1alpha2"))["convertedObjects"] == [new]
    refused = await converted({**new, "apiVersion": "v.example.com/v9"}, "v1alpha1")
    assert "there is no version v9" in refused["result"]["message"]
    assert webhooks.metrics.conversion_panics == 0


def test_a_conversion_that_loses_something_is_not_served() -> None:
    class Older(CustomResource, group="lossy.example.com", version="v1alpha1", kind="Lossy", storage=False):
        spec: OldSpec = OldSpec()

    def forget(source: dict[str, Any], target: dict[str, Any]) -> None:
        target["metadata"]["name"] = "other"

    lossy = Conversion(Older).function(up=forget, down=forget, old=["spec.numpods"], new=["spec.replicas"])

    class Newer(
        CustomResource,
        group="lossy.example.com",
        version="v1alpha2",
        kind="Lossy",
        conversions=(lossy.add("spec.pool"),),
    ):
        spec: NewSpec = NewSpec()

    with pytest.raises(ConversionError, match="metadata"):
        Webhooks(Versions.of(Newer))
