"""An object that does not fit its class is read as far as it fits; the other values stay as they were read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import setpoint as sp
from setpoint.meta import DecodeError, Misfit, decode, decode_as_read, encode, raw_of


class Tier(sp.Model):
    name: Annotated[str, sp.Field(max_length=5)]
    size: Annotated[int, sp.Field(le=10)] = 1
    at: datetime | None = None


@dataclass
class Limits:
    cpu_count: Annotated[int, sp.Field(le=10)] = 1
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Window:
    begin: int = 0
    end: int = 1

    def __post_init__(self) -> None:
        if self.end < self.begin:
            raise ValueError("end is before begin")


class Contact(pydantic.BaseModel):
    mail: str = pydantic.Field(default="", max_length=10)
    since: datetime | None = None


class Phone(pydantic.BaseModel):
    number: str
    weight: int = pydantic.Field(default=1, le=10)

    @pydantic.field_validator("number")
    @classmethod
    def check_number(cls, number: str) -> str:
        return {"": "", "1": "one", "one": "one"}[number]

    @pydantic.model_validator(mode="after")
    def check_weight(self) -> Phone:
        if not self.number and self.weight:
            raise ValueError("no number,\nbut a weight")
        return self


class Office(pydantic.BaseModel):
    sizes: dict[str, Annotated[int, pydantic.Field(le=5)]] = {}
    phones: list[Phone] = []
    by_name: dict[str, Phone] = {}


class Ratio(sp.Model):
    part: int = 0
    whole: int = 1

    def __post_init__(self) -> None:
        self.part // self.whole


class Pair(sp.Model):
    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError("high is below low")


class Spec(sp.Model):
    n: Annotated[int, sp.Field(le=10)] = 1
    mode: Literal["a", "b"] = "a"
    every: sp.Duration = sp.Duration(hours=1)
    size: sp.Quantity | None = None
    tier: Tier = Tier(name="x")
    tiers: list[Tier] = []
    by_name: dict[str, Tier] = {}
    limits: Limits = Limits()
    window: Window = Window()
    contact: Contact = Contact()
    office: Office = Office()
    pair: Pair = Pair()
    ratio: Ratio = Ratio()
    port: int | str = 0
    level: Annotated[int, msgspec.Meta(le=10, extra_json_schema={"example": [1]})] = 1
    free: dict[str, Any] = {}


class Thing(sp.CustomResource, group="misfits.example.com", version="v1"):
    spec: Spec = Spec()


def thing(**spec: Any) -> bytes:
    document = {"apiVersion": "misfits.example.com/v1", "kind": "Thing", "metadata": {"name": "a", "uid": "u"}}
    return msgspec.json.encode({**document, "spec": spec})


CASES: list[tuple[dict[str, Any], str, Any]] = [
    ({"n": 50}, "spec.n", lambda spec: spec.n == 50),
    ({"n": "many"}, "spec.n", lambda spec: spec.n == "many"),
    ({"mode": "c"}, "spec.mode", lambda spec: spec.mode == "c"),
    ({"every": "1d"}, "spec.every", lambda spec: spec.every == "1d"),
    ({"size": "much"}, "spec.size", lambda spec: spec.size == "much"),
    ({"tier": {"name": "too long"}}, "spec.tier.name", lambda spec: spec.tier.name == "too long"),
    (
        {"tier": {"name": "x", "at": "noon"}},
        "spec.tier.at",
        lambda spec: (spec.tier.at, spec.tier.name) == ("noon", "x"),
    ),
    ({"tier": [1]}, "spec.tier", lambda spec: spec.tier == [1]),
    (
        {"tiers": [{"name": "x"}, {"name": "y", "size": 11}]},
        "spec.tiers[1].size",
        lambda spec: spec.tiers == [Tier(name="x"), Tier(name="y", size=11)],
    ),
    ({"byName": {"q": {"name": "x", "size": 11}}}, "spec.byName[q].size", lambda spec: spec.by_name["q"].size == 11),
    (
        {"limits": {"cpuCount": 11, "notes": ["x"]}},
        "spec.limits.cpuCount",
        lambda spec: spec.limits == Limits(11, ["x"]),
    ),
    ({"window": {"begin": 2, "end": 1}}, "spec.window", lambda spec: (spec.window.begin, spec.window.end) == (2, 1)),
    (
        {"contact": {"mail": "x" * 11, "since": "2026-01-01T00:00:00Z"}},
        "spec.contact.mail",
        lambda spec: spec.contact.mail == "x" * 11 and spec.contact.since.year == 2026,
    ),
    ({"pair": {"low": 2, "high": 1}}, "spec.pair", lambda spec: isinstance(spec.pair, Pair) and spec.pair.low == 2),
    (
        {"office": {"phones": [{"number": "1"}, {"number": "1", "weight": 11}]}},
        "spec.office.phones[1].weight",
        lambda spec: [(phone.number, phone.weight) for phone in spec.office.phones] == [("one", 1), ("one", 11)],
    ),
    (
        {"office": {"byName": {"q": {"number": "2"}}}},
        "spec.office.byName[q].number",
        lambda spec: spec.office.by_name["q"].number == "2",
    ),
    (
        {"office": {"phones": [{"number": "", "weight": 2}]}},
        "spec.office.phones[0]",
        lambda spec: spec.office.phones[0].weight == 2,
    ),
    (
        {"office": {"sizes": {"q": 9, "r": 1}}},
        "spec.office.sizes.q",
        lambda spec: spec.office.sizes == {"q": 9, "r": 1},
    ),
    ({"ratio": {"part": 1, "whole": 0}}, "spec.ratio", lambda spec: (spec.ratio.part, spec.ratio.whole) == (1, 0)),
    ({"level": 11}, "spec.level", lambda spec: spec.level == 11),
    ({"port": []}, "spec.port", lambda spec: spec.port == []),
]


@pytest.mark.parametrize(
    ("spec", "path", "holds"), CASES, ids=[f"{index}-{path}" for index, (_, path, _) in enumerate(CASES)]
)
def test_a_value_that_does_not_fit_stays_as_read_and_all_others_are_typed(
    spec: dict[str, Any], path: str, holds: Any
) -> None:
    raw = thing(**spec, free={"other": [1]})
    with pytest.raises(DecodeError):
        decode(Thing, raw)
    obj, misfits = decode_as_read(Thing, raw)
    assert isinstance(obj, Thing)
    assert [misfit.path for misfit in misfits] == [path]
    assert misfits[0].problem
    assert "\n" not in str(misfits[0])
    assert holds(obj.spec)
    assert (obj.key, obj.uid, obj.spec.free) == ("a", "u", {"other": [1]})
    assert raw_of(obj) == raw
    assert decode_as_read(Thing, encode(obj)) == (obj, misfits)


def test_the_problem_of_a_pydantic_model_is_what_pydantic_says_about_the_value_alone() -> None:
    _, misfits = decode_as_read(Thing, thing(contact={"mail": "x" * 11}))
    assert [misfit.problem for misfit in misfits] == ["String should have at most 10 characters"]
    _, misfits = decode_as_read(Thing, thing(office={"phones": [{"number": "", "weight": 2}, {"number": "2"}]}))
    assert [misfit.problem for misfit in misfits] == ["Value error, no number, but a weight", "KeyError: '2'"]
    with pytest.raises(DecodeError, match=r"^Thing a: mail: String should have at most 10 characters"):
        decode(Thing, thing(contact={"mail": "x" * 11}))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"ratio": {"whole": 0}}, "ZeroDivisionError: (integer division or modulo|division) by zero"),
        ({"office": {"phones": [{"number": "2"}]}}, "KeyError: '2'"),
    ],
)
def test_whatever_the_checks_of_a_class_raise_is_an_error_of_the_object(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(DecodeError, match=f"^Thing a: {problem}$"):
        decode(Thing, thing(**spec))


def test_an_object_that_fits_is_read_as_by_decode() -> None:
    raw = thing(n=3, every="5m", tiers=[{"name": "x"}])
    assert decode_as_read(Thing, raw) == (decode(Thing, raw), [])


def test_what_only_gos_decoder_accepts_is_repaired_beside_a_misfit() -> None:
    obj, misfits = decode_as_read(Thing, thing(n=50, tiers=None, size=1, tier={}))
    assert misfits == [Misfit("spec.n", "Expected `int` <= 10", 50)]
    assert (obj.spec.tiers, obj.spec.size, obj.spec.tier) == ([], sp.Quantity("1"), Tier(name=""))


def test_all_fields_that_do_not_fit_are_named() -> None:
    _, misfits = decode_as_read(Thing, thing(n=50, mode="c", every="1d"))
    assert [misfit.path for misfit in misfits] == ["spec.n", "spec.mode", "spec.every"]


def test_only_the_field_that_is_nested_too_deeply_stays_raw() -> None:
    deep = b'{"x":' * 100_000 + b"1" + b"}" * 100_000
    raw = thing(n=3, free={}).replace(b'"free":{}', b'"free":' + deep)
    obj, misfits = decode_as_read(Thing, raw)
    assert obj.spec.n == 3
    free: Any = obj.spec.free
    assert free == msgspec.Raw(deep)
    assert [misfit.path for misfit in misfits] == ["spec.free"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'"x"'])
def test_what_is_not_an_object_is_refused(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_as_read(Thing, raw)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.floats(allow_nan=False, width=16) | st.text(max_size=6),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=3),
    max_leaves=8,
)
NAMES = [item.encode_name for item in msgspec.structs.fields(Spec)]


@given(st.dictionaries(st.sampled_from(NAMES), ANY))
def test_whatever_is_in_the_fields_of_an_object_the_object_can_be_read_and_written_back(spec: dict[str, Any]) -> None:
    raw = thing(**spec)
    obj, misfits = decode_as_read(Thing, raw)
    assert isinstance(obj, Thing)
    assert isinstance(obj.spec, Spec)
    try:
        decode(Thing, raw)
    except DecodeError:
        assert misfits
    else:
        assert not misfits
    assume(obj.spec != Spec())  # false equals 0 in Python, and a spec that equals its default is left out on the wire
    again, same = decode_as_read(Thing, encode(obj))
    assert (again, [misfit.path for misfit in same]) == (obj, [misfit.path for misfit in misfits])
