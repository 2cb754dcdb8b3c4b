"""The store: bytes, indexes, snapshots, dictionaries."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from setpoint.cache import Head, Lister, NotFoundInCache, ObjectParser, Snapshot, Store
from setpoint.cache.compression import MAX_DICTIONARIES, PLAIN, UNTRAINED, Compressor
from setpoint.cache.dictionary_training import Training
from setpoint.cache.object_parser import UnexpectedKind
from setpoint.cache.object_record import scheme_of, version_number
from setpoint.meta import Model, Selector, raw_of
from setpoint.models.core_v1 import ConfigMap, Pod

from .fakes import pod, to_bytes


def make_store(**options: Any) -> Store:
    return Store(ObjectParser(Pod.resource, **options))


STALE = object()


def put(store: Store, document: Any) -> Any:
    metadata = document["metadata"]
    key = f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
    records = store.put(key, store.parser.read(to_bytes(document)))
    return STALE if records is None else records[0]


def lister(store: Store | Snapshot) -> Lister[Pod]:
    return Lister(store, Pod, Pod.resource)


def test_add_get_update_delete_list() -> None:
    store = make_store()
    assert put(store, pod("a", version=1)) is None
    assert put(store, pod("b", version=2, namespace="other")) is None
    assert lister(store).get("default/a").metadata.resource_version == "1"
    assert lister(store).get("b", "other").name == "b"
    assert put(store, pod("a", version=3, phase="Failed")) is not None
    assert lister(store).get("default/a").status.phase == "Failed"
    assert {item.name for item in lister(store).list()} == {"a", "b"}
    assert {item.name for item in lister(store).list(namespace="other")} == {"b"}
    assert store.remove("default/a") is not None
    assert store.remove("default/a") is None
    assert len(store) == 1
    assert "default/a" not in store


def test_an_object_that_no_server_sent_can_be_added_and_gives_way_to_any_that_one_sends() -> None:
    store = make_store()
    store.add(Pod.named("mine", "default"))
    assert lister(store).get("default/mine").metadata.resource_version == ""
    put(store, pod("mine", version=1, phase="Failed"))
    assert lister(store).get("default/mine").status.phase == "Failed"
    with pytest.raises(UnexpectedKind, match="ConfigMap"):
        store.add(ConfigMap.named("other", "default"))
    assert store.keys() == {"default/mine"}


def test_not_found_is_an_error_or_none_as_asked() -> None:
    empty = lister(make_store())
    with pytest.raises(NotFoundInCache, match='pods "default/a" not found in the cache'):
        empty.get("default/a")
    with pytest.raises(KeyError):
        empty.get("a", "default")
    assert empty.try_get("default/a") is None
    assert empty.head("default/a") is None


def test_every_read_is_the_callers_own_and_remembers_its_json() -> None:
    store = make_store()
    put(store, pod("a", version=1))
    first, second = lister(store).get("default/a"), lister(store).get("default/a")
    first.metadata.labels["mine"] = "yes"
    assert second.metadata.labels == {}
    assert raw_of(first) == store.get("default/a")


class PhaseOf(Model):
    phase: str


class Projection(Model):
    status: PhaseOf


def test_a_read_can_be_a_smaller_struct() -> None:
    store = make_store()
    put(store, pod("a", version=1, phase="Pending"))
    assert lister(store).get("default/a", as_=Projection).status.phase == "Pending"
    assert [item.status.phase for item in lister(store).list(as_=Projection)] == ["Pending"]


def test_what_is_not_newer_is_stale_but_versions_that_are_no_numbers_are_taken() -> None:
    store = make_store()
    put(store, pod("a", version=5))
    assert put(store, pod("a", version=5, phase="Failed")) is STALE
    assert put(store, pod("a", version=4, phase="Failed")) is STALE
    assert lister(store).get("default/a").status.phase == "Running"
    odd = pod("b", version=0)
    odd["metadata"]["resourceVersion"] = "abc"
    assert put(store, odd) is None
    assert put(store, odd) not in (None, STALE)
    assert version_number("18446744073709551616") == version_number("-1") == version_number("1e5") == 0


def test_a_store_is_looked_into_by_key() -> None:
    store = make_store()
    assert store.last_sync_resource_version == ""
    put(store, pod("a", version=5, labels={"app": "x"}))
    put(store, pod("b", version=7, namespace="other"))
    put(store, {"metadata": {"name": "wide", "resourceVersion": "abc"}})
    assert list(store) == list(store.keys()) == ["default/a", "other/b", "wide"]
    head = store.head("default/a")
    assert head is not None
    assert (head.name, head.labels, head.resource_version) == ("a", {"app": "x"}, "5")
    assert [store.resource_version(key) for key in (*store, "default/none")] == [5, 7, 0, None]
    assert (store.head("default/none"), store.get("default/none"), store.record("default/none")) == (None, None, None)
    assert (list(store.namespace("other")), list(store.namespace("none"))) == (["other/b"], [])
    with pytest.raises(KeyError, match="nothing"):
        store.indexed("nothing", "x")
    store.remove("other/b")
    assert list(store.namespace("other")) == []
    assert store._namespaces.keys() == {"default"}
    assert "wide" in store
    assert store.remove("wide") is not None
    assert list(store.keys()) == ["default/a"]


def test_an_old_record_can_still_be_read() -> None:
    store = make_store()
    first = pod("a", version=1, phase="Pending")
    del first["metadata"]["managedFields"]  # not kept
    put(store, first)
    old = put(store, pod("a", version=2))
    assert json.loads(store.document(old)) == first
    assert store.head_of(old).resource_version == "1"
    assert json.loads(store.document(store.remove("default/a")))["status"]["phase"] == "Running"


def test_records_are_the_same_by_their_versions_and_without_by_what_they_say() -> None:
    store = make_store()

    def record(version: str, phase: str = "Running") -> Any:
        document = pod("a", version=0, phase=phase)
        document["metadata"]["resourceVersion"] = version
        return store.seal(store.parser.read(to_bytes(document)))[0]

    one = record("7")
    assert store.same(one, one)
    assert store.same(one, record("7", "Failed"))
    assert not store.same(one, record("8"))
    assert not store.same(one, record("abc"))
    assert not store.same(record("abc"), one)
    assert store.same(record("abc"), record("abc"))
    assert not store.same(record("abc"), record("abc", "Failed"))


def test_what_is_stored_is_counted_to_the_byte() -> None:
    store = make_store()
    documents = {f"default/p{number}": pod(f"p{number}", version=1 + number) for number in range(300)}
    for document in documents.values():
        del document["metadata"]["managedFields"]  # not kept
    for round in range(2):
        for number, document in enumerate(documents.values()):
            document["metadata"]["resourceVersion"] = str(1 + number + 1000 * round)
            document["status"]["message"] = "x" * (number + 7 * round)
            put(store, document)
        while store.maintain():
            pass
    for number in range(0, 300, 3):
        assert store.remove(f"default/p{number}") is not None
        del documents[f"default/p{number}"]
    held = [(store.get(key) or b"", store.record(key) or b"") for key in documents]
    assert store.raw_bytes == sum(len(document) for document, _ in held)
    assert store.stored_bytes == sum(len(record) for _, record in held)
    assert {key: json.loads(store.get(key) or b"") for key in store} == documents


def test_a_replacement_tells_first_what_went_and_then_what_came() -> None:
    store = make_store()
    store.add_index("phase", lambda head: (head.labels.get("app", ""),))
    for number, name in enumerate(("gone", "same", "newer")):
        put(store, pod(name, version=1 + number, labels={"app": "x"}))
    replacement = store.replacement()
    wide = {"metadata": {"name": "wide", "resourceVersion": "10"}}
    for key, document in {
        "other/new": pod("new", version=9, namespace="other", labels={"app": "y"}),
        "default/same": pod("same", version=2, labels={"app": "x"}),
        "default/newer": pod("newer", version=8, labels={"app": "y"}),
        "wide": wide,
    }.items():
        replacement.add(key, store.parser.read(to_bytes(document)))
    held = store.record("default/same")
    changes = list(replacement.finish())
    assert [change.key for change in changes] == ["default/gone", "other/new", "default/same", "default/newer", "wide"]
    assert [(change.old is None, change.new is None, change.same) for change in changes] == [
        (False, True, False),
        (True, False, False),
        (False, False, True),
        (False, False, False),
        (True, False, False),
    ]
    assert changes[2].old is changes[2].new is held
    assert store._namespaces.keys() == {"default", "other"}
    assert store.record("default/same") is held
    assert list(store.namespace("other")) == ["other/new"]
    assert sorted(store.indexed("phase", "y")) == ["default/newer", "other/new"]
    assert list(store.indexed("phase", "x")) == ["default/same"]
    assert store.raw_bytes == sum(len(store.get(key) or b"") for key in store)


def test_a_new_dictionary_is_given_to_some_objects_at_a_time() -> None:
    store = make_store()
    assert not store.maintain(), "nothing was trained"
    for number in range(128):
        put(store, pod(f"p{number}", version=1 + number, metadata={"annotations": {"note": "always the same " * 60}}))

    def plain() -> list[str]:
        newest = store._compressor.scheme
        return [key for key in store if scheme_of(store.record(key) or b"") != newest]

    assert len(plain()) == 128
    assert store.maintain(50)
    assert len(plain()) == 78
    store.remove(plain()[-1])
    put(store, pod("p0", version=1000, metadata={"annotations": {"note": "always the same " * 60}}))
    assert store.maintain(50)
    assert len(plain()) == 27
    assert not store.maintain(), "the rest of them, 64 at most"
    assert plain() == []
    assert not store.maintain()
    assert [lister(store).get(key).metadata.resource_version for key in ("default/p0", "default/p9")] == ["1000", "10"]


# -- indexes ---------------------------------------------------------------------------------------------------------


def by_node(spec: Any) -> list[str]:
    return [spec.spec.node_name]


class NodeOf(Model):
    node_name: str = ""


class SpecOnly(Model):
    spec: NodeOf


def words(head: Head) -> list[str]:
    return head.annotations.get("words", "").split()


def test_an_index_follows_updates_and_deletions_before_and_after_objects_are_there() -> None:
    store = make_store()
    store.add_index("early", words)
    put(store, pod("a", version=1, metadata={"annotations": {"words": "x y z"}}))
    put(store, pod("b", version=2, metadata={"annotations": {"words": "y"}}))
    store.add_index("late", words)
    store.add_index("node", by_node, projection=SpecOnly)
    for name in ("early", "late"):
        assert set(store.indexed(name, "y")) == {"default/a", "default/b"}
        assert store.index_values(name) == ["x", "y", "z"]
    put(store, pod("a", version=3, node="node-2", metadata={"annotations": {"words": "z q"}}))
    for name in ("early", "late"):
        assert store.index_values(name) == ["q", "y", "z"], "a value that nothing has leaves no set behind"
    assert set(store.indexed("node", "node-2")) == {"default/a"}
    assert [item.name for item in lister(store).list(index=("late", "q"))] == ["a"]
    store.remove("default/a")
    assert store.index_values("late") == ["y"]
    assert store.index_values("node") == ["node-1"]


def test_an_object_is_decoded_once_for_all_indexes_of_a_class() -> None:
    store = make_store()
    arguments: list[SpecOnly] = []

    def noted(spec: SpecOnly) -> list[str]:
        arguments.append(spec)
        return by_node(spec)

    def noted_too(spec: SpecOnly) -> list[str]:
        return noted(spec)

    store.add_index("one", noted, projection=SpecOnly)
    store.add_index("other", noted_too, projection=SpecOnly)
    put(store, pod("a", version=1))
    first, second = arguments
    assert first is second
    put(store, pod("a", version=2, node="node-2"))
    assert len(arguments) == 6
    assert len({id(argument) for argument in arguments}) == 3, "the state before, for its values, and the new one"
    assert set(store.indexed("one", "node-2")) == set(store.indexed("other", "node-2")) == {"default/a"}


def test_a_value_keeps_its_other_objects_when_one_goes() -> None:
    store = make_store()
    for number in range(20):
        put(store, pod(f"p{number}", version=1 + number, owner="owner"))
    for number in range(19):
        store.remove(f"default/p{number}")
        assert len(list(store.indexed("owner", "owner"))) == 19 - number
    assert [item.name for item in lister(store).by_owner("owner")] == ["p19"]
    store.remove("default/p19")
    assert store.index_values("owner") == []


def test_an_index_of_another_function_has_another_name_and_the_same_is_there_once() -> None:
    store = make_store()
    put(store, pod("a", version=1))
    assert store.add_index("words", words) == store.add_index("words", words) == "words"
    other = store.add_index("words", lambda head: [head.name])
    assert store.index_values(other) == ["a"]
    assert store.index_values("words") == []
    store.remove("default/a")

    store = make_store()
    store.add_index("words", words)
    with pytest.raises(KeyError, match="no index 'nothing'; available: owner, words"):
        lister(store).list(index=("nothing", "x"))


@pytest.mark.parametrize("late", [False, True], ids=["before the objects", "after them"])
def test_an_object_for_which_an_index_function_fails_is_reported_and_left_out_of_that_index(
    late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    store = make_store()
    if not late:
        store.add_index("fussy", lambda head: [str(int(head.name[1:]))])
    put(store, pod("p1", version=2))
    put(store, pod("oops", version=3))
    if late:
        store.add_index("fussy", lambda head: [str(int(head.name[1:]))])
    assert store.index_values("fussy") == ["1"]
    assert "failed for default/oops" in caplog.text
    assert "default/oops" in store


@pytest.mark.parametrize(
    ("answer", "values"),
    [("one", ["one"]), (None, []), ((), []), (["b", "a", "b"], ["a", "b"]), ({"k": 1}, ["k"]), ([1], []), (7, [])],
)
def test_an_index_function_answers_with_one_string_or_many_or_none(
    answer: Any, values: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    store = make_store()
    store.add_index("x", lambda head: answer)
    put(store, pod("p", version=1))
    assert store.index_values("x") == values
    assert ("TypeError" in caplog.text) is (answer in ([1], 7))
    store.remove("default/p")
    assert store.index_values("x") == []


def test_label_selectors_are_answered_from_an_index_that_follows() -> None:
    store = make_store()
    for number in range(50):
        put(store, pod(f"p{number}", version=1 + number, labels={"app": f"app-{number % 5}", "odd": str(number % 2)}))
    names = lambda selector: {item.name for item in lister(store).list(selector=selector)}  # noqa: E731
    assert names("app=app-1") == {f"p{number}" for number in range(1, 50, 5)}
    assert names("app in (app-1,app-2),odd=1") == {f"p{n}" for n in range(50) if n % 5 in (1, 2) and n % 2}
    assert names({"app": "app-3"}) == {f"p{number}" for number in range(3, 50, 5)}
    assert len(names("app!=app-1")) == 40
    assert len(names("!app")) == 0
    put(store, pod("p1", version=100, labels={"app": "app-9"}))
    store.remove("default/p6")
    assert names("app=app-9") == {"p1"}
    assert names("app=app-1") == {f"p{number}" for number in range(11, 50, 5)}
    assert set(store.labelled(Selector.of("app=app-9")) or ()) == {"default/p1"}
    assert store.labelled(Selector.of("app!=x")) is None


def test_keys_need_no_decoding() -> None:
    store = make_store()
    put(store, pod("a", version=1, labels={"app": "web"}))
    assert lister(store).keys(namespace="default") == ["default/a"]
    assert lister(store).keys(selector="app=db") == []
    assert [head.name for head in lister(store).heads(selector="app=web")] == ["a"]


# -- snapshots -------------------------------------------------------------------------------------------------------


def test_a_snapshot_stays_as_it_was() -> None:
    store = make_store()
    store.add_index("words", words)
    for number in range(4):
        put(
            store,
            pod(f"p{number}", version=1 + number, labels={"n": str(number)}, metadata={"annotations": {"words": "x"}}),
        )
    with store.snapshot() as snapshot:
        put(store, pod("p0", version=10, phase="Failed", labels={"n": "9"}, owner="me"))
        store.remove("default/p1")
        put(store, pod("new", version=11, metadata={"annotations": {"words": "x"}}))
        old, new = lister(snapshot), lister(store)
        assert old.get("default/p0").status.phase == "Running"
        assert new.get("default/p0").status.phase == "Failed"
        assert {item.name for item in old.list()} == {"p0", "p1", "p2", "p3"}
        assert {item.name for item in old.list(namespace="default")} == {"p0", "p1", "p2", "p3"}
        assert {item.name for item in old.list(index=("words", "x"))} == {"p0", "p1", "p2", "p3"}
        assert {item.name for item in old.list(selector="n=0")} == {"p0"}
        assert old.by_owner("me") == []
        assert old.try_get("default/new") is None
        assert len(old) == 4
        assert "default/p1" in snapshot
    with pytest.raises(ValueError, match="closed"):
        old.get("default/p0")
    assert not store._snapshots or store._snapshots[0]() is not None
    put(store, pod("p2", version=20))
    assert store._snapshots == []


@pytest.mark.parametrize(
    "arguments",
    [{}, {"namespace": "default"}, {"selector": "app=web"}, {"index": ("words", "x")}],
    ids=["all", "namespace", "selector", "index"],
)
def test_no_read_of_a_closed_snapshot_answers_with_the_present_state(arguments: dict[str, Any]) -> None:
    store = make_store()
    store.add_index("words", words)
    put(store, pod("a", version=1, labels={"app": "web"}, metadata={"annotations": {"words": "x"}}))
    with store.snapshot() as snapshot:
        assert lister(snapshot).keys(**arguments) == ["default/a"]
    for read in (lister(snapshot).keys, lister(snapshot).heads, lister(snapshot).list):
        with pytest.raises(ValueError, match="closed"):
            read(**arguments)
    for act in (len, list, lambda snapshot: "default/a" in snapshot):
        with pytest.raises(ValueError, match="closed"):
            act(snapshot)


def test_a_dropped_snapshot_costs_nothing_more() -> None:
    store = make_store()
    put(store, pod("a", version=1))
    snapshot = store.snapshot()
    del snapshot
    put(store, pod("a", version=2))
    assert store._snapshots == []


# -- dictionaries ----------------------------------------------------------------------------------------------------


def noise(count: int, seed: int) -> str:
    return random.Random(seed).randbytes(count // 2).hex()


def test_like_objects_shrink_to_a_tenth() -> None:
    store = make_store()
    for number in range(3000):
        put(store, pod(f"p{number}", version=1 + number, metadata={"annotations": {"note": "always the same " * 60}}))
        store.maintain()
    while store.maintain():
        pass
    assert store.stored_bytes < store.raw_bytes / 8
    assert all(lister(store).get(f"default/p{number}").name == f"p{number}" for number in range(0, 3000, 7))


def test_unlike_objects_get_no_bigger_than_plain_bytes_by_more_than_a_few_per_cent() -> None:
    store = make_store()
    for number in range(300):
        put(
            store,
            pod(
                f"p{number}",
                version=1 + number,
                metadata={"annotations": {"data": noise(4000, number) + chr(0x100 + number) * 9}},
            ),
        )
    assert store.stored_bytes < store.raw_bytes * 1.03
    secret = random.Random(1)
    incompressible = "".join(chr(secret.randrange(0x20, 0xD000)) for _ in range(3000))
    put(store, pod("secret", version=1000, metadata={"annotations": {"data": incompressible}}))
    record = store.record("default/secret")
    assert record is not None
    assert len(record) < len(store.document(record)) * 1.03
    assert lister(store).get("default/secret").annotations["data"] == incompressible


def test_the_smallest_objects_are_not_blown_up() -> None:
    store = make_store(metadata_only=True)
    for number in range(200):
        put(store, {"metadata": {"name": noise(20, number)}})
    assert store.stored_bytes < store.raw_bytes * 1.3


def test_objects_of_one_and_a_half_mebibytes_are_kept_whole() -> None:
    store = make_store()
    big = noise(3 << 19, 1)
    for number in range(3):
        put(store, pod(f"p{number}", version=1 + number, metadata={"annotations": {"data": big}}))
    for number in range(3000):
        put(store, pod(f"small{number}", version=10 + number))
    assert lister(store).get("default/p2").annotations["data"] == big
    put(store, pod("plain", version=9999, metadata={"annotations": {"data": "".join(map(chr, range(0x3000, 0x9000)))}}))
    assert lister(store).get("default/plain").annotations["data"][-1] == chr(0x8FFF)


def test_the_dictionary_is_trained_again_when_it_no_longer_fits() -> None:
    store = make_store()
    vocabulary = [noise(600, 1), noise(600, 2)]
    version = 0
    for round in range(2):
        for _ in range(3):
            for number in range(1500):
                version += 1
                put(store, pod(f"p{number}", version=version, metadata={"annotations": {"text": vocabulary[round]}}))
            while store.maintain():
                pass
    ratio = store.stored_bytes / store.raw_bytes
    assert ratio < 0.2
    schemes = {scheme_of(record) for key in store if (record := store.record(key)) is not None}
    assert PLAIN not in schemes
    assert lister(store).get("default/p7").annotations["text"] == vocabulary[1]


def test_objects_of_many_groups_that_come_in_turns_shrink_by_what_each_group_shares() -> None:
    store = make_store()
    groups = [noise(6000, seed) for seed in range(16)]
    for number in range(2600):
        text = groups[number % len(groups)]
        put(store, pod(f"p{number}", version=1 + number, metadata={"annotations": {"images": text}}))
        store.maintain()
    assert store.stored_bytes < store.raw_bytes / 10
    assert lister(store).get("default/p7").annotations["images"] == groups[7]


def test_a_dictionary_that_has_no_room_is_not_adopted_and_not_measured_by() -> None:
    def documents(seed: int) -> list[bytes]:
        return [f"{noise(900, seed)} {number}".encode() for number in range(64)]

    compressor = Compressor()
    training = Training(compressor)
    assert training.is_due(200), "for the first time"
    assert [training.train(documents(seed)) for seed in range(MAX_DICTIONARIES + 1)] == [
        *[True] * MAX_DICTIONARIES,
        False,
    ]
    assert compressor.scheme == UNTRAINED + MAX_DICTIONARIES
    last = documents(MAX_DICTIONARIES)
    for document in itertools.islice(itertools.cycle(last), 1024):
        training.put(len(document), len(compressor.compress(document)[1]), 200)
    assert not training.is_due(200), "the documents compress as they did when the dictionary was refused"


# -- the model -------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "d"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"]))


class StoreAgainstDict(RuleBasedStateMachine):
    """The store, its indexes, snapshots and replacements say what a dict would."""

    @initialize()
    def start(self) -> None:
        self.store = make_store()
        self.model: dict[str, Any] = {}
        self.version = 0
        self.snapshot: Snapshot | None = None
        self.frozen: dict[str, Any] = {}
        self.replacement: Any = None
        self.fresh: dict[str, Any] = {}

    def document(self, name: str, labels: Any, owner: str) -> Any:
        self.version += 1
        return pod(name, version=self.version, uid=f"uid-{name}-{self.version % 3}", labels=labels, owner=owner)

    @rule(name=NAMES, labels=LABELS, owner=st.sampled_from(["", "o1", "o2"]))
    def put(self, name: str, labels: Any, owner: str) -> None:
        document = self.document(name, labels, owner)
        put(self.store, document)
        self.model[f"default/{name}"] = document

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.store.remove(f"default/{name}")
        self.model.pop(f"default/{name}", None)

    @rule()
    def take_snapshot(self) -> None:
        self.snapshot, self.frozen = self.store.snapshot(), dict(self.model)

    @rule()
    def add_index(self) -> None:
        self.store.add_index("label-app", app_label)

    @rule()
    def begin(self) -> None:
        self.replacement, self.fresh = self.store.replacement(), {}

    @rule(name=NAMES, labels=LABELS, same=st.booleans())
    def list_item(self, name: str, labels: Any, same: bool) -> None:
        if self.replacement is not None:
            key = f"default/{name}"
            document = self.model[key] if same and key in self.model else self.document(name, labels, "o1")
            self.replacement.add(key, self.store.parser.read(to_bytes(document)))
            self.fresh[key] = document

    @rule()
    def finish(self) -> None:
        if self.replacement is None:
            return
        changes = list(self.replacement.finish())
        by_key = {change.key: (change.old is not None, change.new is not None, change.same) for change in changes}
        for key in self.model.keys() | self.fresh.keys():
            old, new = self.model.get(key), self.fresh.get(key)
            assert by_key[key] == (old is not None, new is not None, old is not None and old == new)
        kinds = [change.new is None for change in changes]
        assert kinds == sorted(kinds, reverse=True), "deletions come first"
        self.model, self.replacement = self.fresh, None

    @rule()
    def maintain(self) -> None:
        self.store.maintain(1)

    @staticmethod
    def agree(readable: Store | Snapshot, model: dict[str, Any]) -> None:
        def names(**selection: Any) -> set[str]:
            return {head.key for head in lister(readable).heads(**selection)}

        assert set(readable) == model.keys()
        for key, document in model.items():
            stored = readable.get(key)
            assert stored is not None
            assert json.loads(stored)["metadata"]["uid"] == document["metadata"]["uid"]
        for value in ("x", "y"):
            expected = {
                key for key, one_value in model.items() if one_value["metadata"].get("labels", {}).get("app") == value
            }
            assert names(selector=f"app={value}") == expected
            assert names(selector=f"app={value}", namespace="default") == expected
        for owner in ("o1", "o2"):
            expected = {
                k for k, d in model.items() if any(o["uid"] == owner for o in d["metadata"].get("ownerReferences", []))
            }
            assert names(index=("owner", owner)) == expected
        assert names(namespace="default") == model.keys()
        assert names(namespace="other") == set()

    @invariant()
    def store_agrees(self) -> None:
        self.agree(self.store, self.model)

    @invariant()
    def snapshot_agrees(self) -> None:
        if self.snapshot is not None:
            self.agree(self.snapshot, self.frozen)

    @invariant()
    def bytes_are_accounted_for(self) -> None:
        records = [record for key in self.store if (record := self.store.record(key)) is not None]
        assert self.store.stored_bytes == sum(map(len, records))
        assert self.store.raw_bytes == sum(len(self.store.document(record)) for record in records)


def app_label(head: Head) -> list[str]:
    return [head.labels["app"]] if "app" in head.labels else []


TestStoreAgainstDict = StoreAgainstDict.TestCase
TestStoreAgainstDict.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_an_index_that_comes_while_a_list_does_knows_what_the_list_brought() -> None:
    store = make_store()
    put(store, pod("a", version=1, labels={"app": "x"}))
    put(store, pod("b", version=2, labels={"app": "y"}))
    replacement = store.replacement()
    replacement.add("default/a", store.parser.read(to_bytes(pod("a", version=3, labels={"app": "y"}))))
    store.add_index("app", lambda head: (head.labels["app"],))
    assert lister(store).keys(selector="app=x") == ["default/a"]
    replacement.add("default/b", store.parser.read(to_bytes(pod("b", version=2, labels={"app": "y"}))))
    for _ in replacement.finish():
        pass
    assert lister(store).keys(selector="app=y") == ["default/b", "default/a"]
    assert lister(store).keys(selector="app=x") == []
    assert lister(store).keys(index=("app", "y")) == ["default/b", "default/a"]
    # and later changes of records that were sealed under fewer indexes are indexed, too
    put(store, pod("a", version=4, labels={"app": "z"}))
    assert lister(store).keys(index=("app", "y")) == ["default/b"]
    assert lister(store).keys(selector="app=z") == ["default/a"]


ORDERS = """
import json, sys
from tests.cache.test_store import lister, make_store, put
from tests.cache.fakes import pod
store = make_store()
for number in range(40):
    name = f"pod-{number * 7919 % 1009}"
    put(store, pod(name, version=number + 1, owner="o", labels={"app": f"app-{number % 2}"}))
store.remove("default/pod-0")
read = lister(store)
json.dump(
    [
        read.keys(),
        read.keys(namespace="default"),
        read.keys(index=("owner", "o")),
        read.keys(selector="app in (app-0, app-1)"),
        read.keys(selector="app=app-1"),
    ],
    sys.stdout,
)
"""


def test_the_order_of_what_a_lister_returns_does_not_depend_on_the_hash_seed() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", ORDERS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    orders = json.loads(outputs[0])
    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0]) == 39


@pytest.mark.parametrize("version", ["٣", "1" * 6000, "18446744073709551616", "-1", "1_0", " 1", ""])
def test_what_is_no_number_of_64_bits_is_no_version_number(version: str) -> None:
    assert version_number(version) == 0
