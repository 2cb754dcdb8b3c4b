"""Between bytes and models: nothing a server sends is refused for sloppiness, and nothing absent becomes null."""

from __future__ import annotations

import copy
import json
import math
import sys
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType, field

from setpoint.meta import (
    ApiModel,
    Condition,
    DecodeError,
    MicroTime,
    Model,
    Object,
    ObjectKey,
    Quantity,
    Resource,
    TooDeep,
    decode,
    encode,
    from_wire,
    head_of,
    json_of,
    members,
    plain,
    raw_of,
    to_wire,
    wire_name,
)


class Port(ApiModel):
    container_port: int
    name: str | None = None


class GadgetSpec(ApiModel):
    ports: list[Port]
    selector: dict[str, str] = {}
    node_name: str | None = None
    limits: dict[str, str] = {}


class GadgetStatus(ApiModel):
    phase: str | None = None
    conditions: list[Condition] = []


class Gadget(Object, omit_defaults=True):
    resource = Resource(group="example.com", version="v1", kind="Gadget", plural="gadgets")
    spec: GadgetSpec = field(default_factory=lambda: GadgetSpec(ports=[]))
    status: GadgetStatus = field(default_factory=GadgetStatus)


class UserSpec(Model):
    replicas: int = 1
    nick_name: str | None = None
    expiry: datetime | UnsetType | None = UNSET
    size: Quantity | None = None
    at: MicroTime | None = None


def test_wire_names_are_camel_case() -> None:
    assert wire_name("num_pods") == "numPods"
    assert wire_name("from_") == "from"
    assert wire_name("numpods") == "numpods"


def test_absent_is_left_out_and_never_null() -> None:
    assert to_wire(UserSpec()) == {"replicas": 1}
    assert to_wire(UserSpec(nick_name="x")) == {"replicas": 1, "nickName": "x"}


def test_null_is_sent_only_where_the_type_asks_for_it() -> None:
    assert to_wire(UserSpec(expiry=None)) == {"replicas": 1, "expiry": None}


def test_a_users_default_is_sent_so_that_zero_is_seen() -> None:
    assert to_wire(UserSpec(replicas=0)) == {"replicas": 0}


def test_an_object_that_says_nothing_has_no_spec_and_no_status() -> None:
    assert to_wire(Gadget.named("a", "ns")) == {
        "apiVersion": "example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "a", "namespace": "ns"},
    }


def test_an_object_is_named_with_labels_and_annotations() -> None:
    gadget = Gadget.named("a", "ns", {"app": "a"}, {"note": "b"})
    assert (gadget.labels, gadget.annotations) == ({"app": "a"}, {"note": "b"})
    assert Gadget.named("a", annotations={"note": "b"}).annotations == {"note": "b"}


def test_nulls_and_missing_fields_read_as_go_reads_them() -> None:
    gadget = decode(Gadget, b'{"metadata":{"name":"g","labels":null},"spec":{"ports":null,"limits":{"cpu":2}}}')
    assert gadget.labels == {}
    assert gadget.spec.ports == []
    assert gadget.spec.limits == {"cpu": "2"}
    assert decode(Gadget, b'{"metadata":null,"spec":{"ports":[{}]}}').spec.ports == [Port(container_port=0)]


def test_unknown_fields_are_ignored_and_remembered_raw() -> None:
    raw = b'{"metadata":{"name":"g","later":1},"spec":{"ports":[],"new":{"a":[1]}}}'
    gadget = decode(Gadget, raw)
    assert gadget.name == "g"
    assert raw_of(gadget) == raw
    assert raw_of(Gadget.named("x")) is None


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "malformed JSON"),
        (b"", "malformed JSON"),
        (b'{"metadata":{"name":"g","namespace":"n"},"spec":{"ports":"x"}}', "Gadget n/g: Expected `array`, got `str`"),
        (b'{"spec":{"ports":[{"containerPort":"x"}]}}', "$.spec.ports[0].containerPort"),
        (b"[]", "Expected `object`, got `array`"),
    ],
)
def test_a_misfit_names_the_object_and_the_field(raw: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(Gadget, raw)
    assert message in str(caught.value)


def test_a_struct_default_is_never_shared() -> None:
    class Holder(Model):
        inner: UserSpec = UserSpec()

    one, two = Holder(), Holder()
    one.inner.replicas = 9
    assert two.inner.replicas == 1


def test_a_default_with_items_is_never_shared() -> None:
    class Holder(Model):
        names: list[str] = ["a"]
        parts: dict[str, list[UserSpec]] = {"x": [UserSpec()]}
        tags: set[str] = {"t"}

    one, two = Holder(), Holder()
    one.names.append("b")
    one.parts["x"][0].replicas = 9
    one.tags.clear()
    assert (two.names, two.parts["x"][0].replicas, two.tags) == (["a"], 1, {"t"})


def test_a_struct_default_is_never_shared_in_a_module_without_the_annotations_of_the_future() -> None:
    """From Python 3.14 on such a module has its annotations as functions."""
    source = """
class Half(Model):
    names: list[str] = []

class Whole(Model):
    shared: ClassVar[Half] = Half()
    half: Half = Half()
"""
    names: dict[str, Any] = {"Model": Model, "ClassVar": ClassVar, "__name__": __name__}
    exec(compile(source, "source", "exec", dont_inherit=True), names)
    whole = names["Whole"]
    whole().half.names.append("a")
    assert whole().half.names == []
    assert whole.shared is whole().shared


def test_micro_times_keep_six_digits() -> None:
    spec = UserSpec(at=MicroTime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert to_wire(spec)["at"] == "2026-01-02T03:04:05.000000Z"
    assert from_wire(UserSpec, to_wire(spec)).at == spec.at


def test_a_key_is_written_as_the_string_that_it_is() -> None:
    assert encode({"of": ObjectKey("b/c"), "all": [ObjectKey("n")]}) == b'{"of":"b/c","all":["n"]}'
    assert to_wire(Condition(type=ObjectKey("b/c"), status="True"))["type"] == "b/c"


def test_quantities_are_read_and_written_as_text() -> None:
    spec = from_wire(UserSpec, {"size": "1.5Gi"})
    assert spec.size == Quantity("1536Mi")
    assert to_wire(spec)["size"] == "1536Mi"


def test_bounds_hold_when_reading() -> None:
    class Bounded(Model):
        n: Annotated[int, msgspec.Meta(ge=0)] = 0

    with pytest.raises(DecodeError, match="Expected `int` >= 0"):
        from_wire(Bounded, {"n": -1})


@given(
    st.builds(
        Gadget,
        spec=st.builds(
            GadgetSpec,
            ports=st.lists(st.builds(Port, container_port=st.integers(0, 65535), name=st.none() | st.text())),
            selector=st.dictionaries(st.text(), st.text()),
            node_name=st.none() | st.text(),
        ),
    )
)
def test_encode_then_decode_gives_the_same(gadget: Gadget) -> None:
    raw = encode(gadget)
    assert decode(Gadget, raw) == gadget
    assert _no_nulls(json.loads(raw))


def _no_nulls(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_no_nulls(item) for item in value.values())
    if isinstance(value, list):
        return all(_no_nulls(item) for item in value)
    return value is not None


def test_an_owner_must_have_been_stored() -> None:
    with pytest.raises(ValueError, match="has no uid"):
        Gadget.named("a").owner_reference()
    stored = decode(Gadget, b'{"metadata":{"name":"a","uid":"u1"}}')
    reference = stored.owner_reference()
    assert (reference.api_version, reference.kind, reference.uid, reference.controller) == (
        "example.com/v1",
        "Gadget",
        "u1",
        True,
    )


def test_a_struct_that_belongs_to_the_class_stays_with_the_class() -> None:
    class Held(Object):
        resource: ClassVar[Resource] = Resource(group="", version="v1", kind="Held", plural="helds")

    assert Held().kind == "Held"


def test_managed_fields_come_back_as_they_were() -> None:
    entry = {"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:ports": {}}}}
    raw = json.dumps({"metadata": {"name": "g", "managedFields": [entry]}}).encode()
    assert to_wire(decode(Gadget, raw))["metadata"]["managedFields"] == [entry]
    assert from_wire(Gadget, {"metadata": {"managedFields": None}}).metadata.managed_fields == []
    repaired = decode(Gadget, raw[:-1] + b',"spec":{"ports":null}}')
    assert to_wire(repaired)["metadata"]["managedFields"] == [entry]
    assert copy.deepcopy(repaired) == repaired


class Inner(Model):
    needed: str
    numbers: list[int]


class Needy(Object):
    resource = Resource(group="example.com", version="v1", kind="Needy", plural="needies")
    spec: Inner


def test_a_class_is_looked_at_once_however_many_objects_miss_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    fields = msgspec.structs.fields

    def counted(kind: Any) -> Any:
        looked.append(kind)
        return fields(kind)

    monkeypatch.setattr(msgspec.structs, "fields", counted)
    for name in "abcdef":
        document = decode(Needy, b'{"metadata":{"name":"%b"},"spec":{"numbers":null}}' % name.encode())
        assert (document.name, document.spec.needed, document.spec.numbers) == (name, "", [])
    assert sorted(map(str, looked)) == sorted(set(map(str, looked)))


def deep(levels: int, key: str = "a") -> bytes:
    return b'{"%b":' % key.encode() * levels + b"1" + b"}" * levels


# Extensions may recurse deeper since Python 3.12, and as deep as the stack allows since 3.14.
@pytest.mark.parametrize(
    "levels",
    [1_000, 10_000, 100_000]
    if sys.version_info < (3, 12)
    else [10_000, 100_000]
    if sys.version_info < (3, 14)
    else [100_000],
)
def test_what_is_nested_too_deeply_is_an_error_that_names_the_object(levels: int) -> None:
    raw = b'{"metadata":{"namespace":"default","name":"web"},"spec":%b}' % deep(levels)
    with pytest.raises(TooDeep, match=r"^Gadget default/web: nested too deeply"):
        decode(Gadget, raw)
    with pytest.raises(TooDeep, match="nested too deeply"):
        plain(raw)
    assert {name: len(value) for name, value in members(raw).items()}["spec"] == levels * 6 + 1
    assert head_of(raw).key == "default/web"
    managed = raw.replace(b'"name"', b'"managedFields":[{"fieldsV1":%b}],"name"' % deep(levels))
    assert head_of(managed).key == "default/web"


@given(st.recursive(st.none() | st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)), st.sampled_from([None, 1]))  # fmt: skip  # noqa: E501
def test_members_are_those_that_a_parser_finds(value: Any, indent: int | None) -> None:
    raw = json.dumps({"a": value, "b": value, '"}{\\': [value]}, indent=indent).encode()
    assert {name: json.loads(member) for name, member in members(raw).items()} == json.loads(raw)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"a"', b'{"a":', b'{"a":{', b'{"a":1', b'{"a":1,', b'{a:1}', b'{"a":1]'])  # fmt: skip  # noqa: E501
def test_what_is_no_object_has_no_members(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        members(raw)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (rb"\ud800", "�"), (rb"\udc00x", "�x"), (rb"\ud800A", "�A"), (rb"\ud83d\ude00", "😀"),
        (rb"\\ud800", "\\ud800"), (rb"\\\ud800", "\\�"), (b"\xff", "�"), (b"caf\xc3\xa9\xe2", "café�"),
        (rb"\u0000", "\0"), (rb"\uD800\uD83D\uDE00", "�😀"),
    ],
)  # fmt: skip
def test_what_is_not_unicode_is_read_as_go_reads_it(text: bytes, read: str) -> None:
    raw = b'{"metadata":{"name":"a"},"status":{"phase":"%b"}}' % text
    document = decode(Gadget, raw)
    assert document.status.phase == read
    assert json.loads(raw_of(document) or b"")["status"]["phase"] == read
    assert plain(raw)["status"]["phase"] == read
    assert head_of(b'{"metadata":{"labels":{"a":"%b"}}}' % text).labels == {"a": read}


@pytest.mark.parametrize("number", [b"1e400", b"9" * 5000, b"-1e999"])
def test_a_number_that_nothing_can_hold_is_told_of_the_object(number: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^Gadget a: "):
        decode(Gadget, b'{"metadata":{"name":"a"},"spec":{"nodeName":%b}}' % number)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused_with_their_place(number: float) -> None:
    with pytest.raises(
        ValueError, match=rf"Thing a/b: spec\.sizes\[1\]: the number is {number}, which JSON can't represent"
    ):
        json_of({"metadata": None, "spec": {"sizes": [1.5, number]}}, "Thing", "a/b")
    assert json_of({"a": None, "b": [1.5]}) == b'{"a":null,"b":[1.5]}'
