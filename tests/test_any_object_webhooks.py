"""Webhooks answer reviews of any object that an API server may hold, of any depth, size and language.

A kube-apiserver takes JSON of 10,000 levels and asks its webhooks about it, so reviews are made of bytes here: the
embedded server would refuse most of them before.
"""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import setpoint as sp
from setpoint.crd import Conversion, CustomResource, Field, Versions
from setpoint.meta import Model
from setpoint.patch import json_patch
from setpoint.testing import virtual_time
from setpoint.webhook import Admission, Webhooks

GROUP = "any.example.com"
SHALLOW = 200
"""Levels that go through in any case."""


class OldSpec(Model):
    size: int = 1
    content: Annotated[dict[str, Any], Field(preserve_unknown_fields=True)] = {}


class OldThing(CustomResource, group=GROUP, version="v1alpha1", kind="Thing", storage=False):
    spec: OldSpec = OldSpec()


class Spec(Model):
    width: int = 1
    content: Annotated[dict[str, Any], Field(preserve_unknown_fields=True)] = {}


class Thing(
    CustomResource, group=GROUP, version="v1", conversions=[Conversion(OldThing).rename("spec.size", "spec.width")]
):
    spec: Spec = Spec()


def label_it(thing: Thing) -> None:
    thing.labels["asked"] = "yes"


def look(thing: Thing, check: sp.Check) -> None:
    if "refuse" in thing.spec.content:
        check.forbidden("spec.content", "it says so")


texts = st.text(max_size=12, alphabet=st.characters(exclude_categories=("Cs",))) | st.sampled_from(
    ["\0", "👩‍👩‍👧‍👦", "ﷺ", "\u202eabc", "\ufeff", "n", "on", "<<", "e\u0301", "漢字", "a/b~c", "refuse"]
)
names = st.sampled_from(["a", "a" * 253, "a.b-c", "0", "true", "名前", "system:x", "..", "a%2fb", ""])


@st.composite
def contents(draw: st.DrawFn) -> tuple[bytes, bool]:
    """JSON of an object's content, and whether any program must understand it."""
    match draw(st.sampled_from(["plain", "plain", "deep", "large", "bytes"])):
        case "deep":
            depth = draw(st.integers(1, 10_000))
            begin, end = draw(st.sampled_from([(b"[", b"]"), (b'{"a":', b"}"), (b'[{"\xc3\xa9":', b"}]")]))
            count = max(depth // begin.count(b"{") // 2 if b"[{" in begin else depth, 1)
            return b'{"x":' + begin * count + b"1" + end * count + b"}", depth < SHALLOW
        case "large":
            letter = draw(st.sampled_from(["x", "é", "漢", "👩", "\\u0000", '\\"']))
            return f'{{"x":"{letter * draw(st.integers(0, 400_000))}"}}'.encode(), True
        case "bytes":
            # Invalid UTF-8, halves of surrogates, numbers that no float holds.
            odd = [b'"\xff"', b'"\xed\xa0\x80"', b'"\\ud800"', b"1e999", b"-0", b"1" * 400, b"NaN", b"1.0e-400"]
            return b'{"x":' + draw(st.sampled_from(odd)) + b"}", False
        case _:
            leaf = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts
            tree = st.recursive(
                leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
            )
            return json.dumps(
                draw(st.dictionaries(texts, tree, max_size=3)), ensure_ascii=draw(st.booleans())
            ).encode(), True


def document(version: str, name: bytes, content: bytes, label: bytes = b'"x"', place: bytes = b"content") -> bytes:
    """``place``: a field of the spec that the class knows, or one that it does not."""
    field = b"size" if version == "v1alpha1" else b"width"
    return (
        b'{"apiVersion":"any.example.com/%b","kind":"Thing","metadata":{"name":%b,"namespace":"default","uid":"u",'
        b'"labels":{"l":%b}},"spec":{"%b":3,"%b":%b}}'
    ) % (version.encode(), name, label, field, place, content)


def admission_review(obj: bytes, operation: bytes = b"CREATE", old: bytes = b"null") -> bytes:
    return (
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5",'
        b'"kind":{"group":"any.example.com","version":"v1","kind":"Thing"},'
        b'"resource":{"group":"any.example.com","version":"v1","resource":"things"},"name":"a","namespace":"default",'
        b'"operation":"%b","userInfo":{},"object":%b,"oldObject":%b,"options":null}}'
    ) % (operation, obj, old)


def conversion_review(objects: list[bytes], to: str) -> bytes:
    return (
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"705ab4f5",'
        b'"desiredAPIVersion":"any.example.com/%b","objects":[%b]}}'
    ) % (to.encode(), b",".join(objects))


def webhooks() -> Webhooks:
    return Webhooks(Admission(Thing).defaults(label_it).validates(look), Versions.of(Thing))


examples = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
PLAIN = document("v1", b'"plain"', b'{"a":1}')


@examples
@given(
    contents(),
    names,
    texts,
    st.sampled_from(["mutate", "validate"]),
    st.sampled_from([b"content", b"unheardOf"]),
    st.sampled_from([b"CREATE", b"UPDATE"]),
)
@example((b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", False), "a", "x", "mutate", b"unheardOf", b"CREATE")
@example((b'{"x":' + b'{"a":' * 9_999 + b"1" + b"}" * 10_000, False), "a", "x", "validate", b"content", b"UPDATE")
@example((b'{"x":1e999}', False), "a", "x", "mutate", b"content", b"CREATE")
@example((b'{"x":"\xff"}', False), "a", "x", "mutate", b"unheardOf", b"CREATE")
@example((b'{"x":' + b"1" * 400 + b"}", False), "a", "x", "mutate", b"unheardOf", b"UPDATE")
@virtual_time
async def test_any_object_is_admitted_or_refused_and_the_next_is_asked_about_as_ever(
    content: tuple[bytes, bool], name: str, label: str, role: str, place: bytes, operation: bytes
) -> None:
    raw, clear = content
    served = webhooks()
    path = f"/{role}-any-example-com-v1-thing"
    sent = document("v1", json.dumps(name).encode(), raw, json.dumps(label).encode(), place)
    reply = await served.handle_review(
        path, admission_review(sent, operation, sent if operation == b"UPDATE" else b"null")
    )
    assert reply.status in (200, 400)
    assert served.metrics.panics == 0
    if reply.status == 400:
        assert not clear, reply.body
    else:
        response = json.loads(reply.body)["response"]
        assert response["uid"] == "705ab4f5"
        if not response["allowed"]:
            assert not clear or (role == "validate" and b'"refuse"' in raw), response
        elif role == "mutate":
            if clear:
                before = json.loads(sent)
                after = json_patch.apply(before, json.loads(base64.b64decode(response["patch"])))
                assert after["metadata"]["labels"] == {"l": label, "asked": "yes"}
                assert after["spec"] == json.loads(sent)["spec"], "and nothing else has changed"
            else:
                assert b"spec" not in base64.b64decode(response["patch"]), "what can't be read is not written"
    plain = await served.handle_review(path, admission_review(PLAIN))
    assert json.loads(plain.body)["response"]["allowed"] is True


@examples
@given(st.lists(st.tuples(contents(), names), min_size=1, max_size=4), texts, st.booleans())
@example([((b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", False), "deep"), ((b"{}", True), "flat")], "x", True)
@virtual_time
async def test_any_objects_are_converted_all_or_none_and_the_next_ones_as_ever(
    given_objects: list[tuple[tuple[bytes, bool], str]], label: str, forward: bool
) -> None:
    source, target = ("v1alpha1", "v1") if forward else ("v1", "v1alpha1")
    body = json.dumps(label).encode()
    objects = [document(source, json.dumps(name).encode(), raw, body) for (raw, _), name in given_objects]
    served = webhooks()
    reply = await served.handle_review("/convert", conversion_review(objects, target))
    clear = all(expected for (_, expected), _ in given_objects)
    assert reply.status in (200, 400)
    assert served.metrics.panics == 0
    if reply.status == 400:
        assert not clear, reply.body
    else:
        response = json.loads(reply.body)["response"] if clear else None
        if response is not None:
            assert response["result"] == {"status": "Success"}
            assert [converted_obj["apiVersion"] for converted_obj in response["convertedObjects"]] == [
                f"{GROUP}/{target}"
            ] * len(objects)
            new, old = ("width", "size") if forward else ("size", "width")
            for before, after in zip(map(json.loads, objects), response["convertedObjects"], strict=True):
                assert after["spec"][new] == before["spec"][old]
                assert after["spec"]["content"] == before["spec"]["content"]
                assert after["metadata"]["labels"] == before["metadata"]["labels"]
        else:
            assert b'"uid":"705ab4f5"' in reply.body
    plain = await served.handle_review("/convert", conversion_review([PLAIN], "v1alpha1"))
    assert json.loads(plain.body)["response"]["convertedObjects"][0]["spec"] == {"size": 3, "content": {"a": 1}}


@pytest.mark.parametrize("body", [b"[1]", b"5", b'"x"', b"1e999", b"true"])
@pytest.mark.parametrize("operation", [b"CREATE", b"UPDATE", b"DELETE"])
@virtual_time
async def test_what_is_not_an_object_is_refused(body: bytes, operation: bytes) -> None:
    served = webhooks()
    reply = await served.handle_review("/validate-any-example-com-v1-thing", admission_review(body, operation, body))
    assert served.metrics.panics == 0
    assert reply.status in (200, 400)
    if reply.status == 200:
        assert json.loads(reply.body)["response"]["allowed"] is False
