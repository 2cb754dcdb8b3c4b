"""Numbered objects that a controller keeps for earlier desired states are not compared; other left-overs are."""

from __future__ import annotations

from typing import Any

import pytest

from setpoint.simulation.comparison.revision_histories import without_histories
from setpoint.simulation.comparison.snapshot import Snapshot

OWNER = {"ownerReferences": [{"uid": "<uid of the owner>", "controller": True}]}


def objects(kind: str = "configmaps", **contents: dict[str, Any]) -> Snapshot:
    return {
        f"{kind} default/{name.replace('_', '-')}": [
            {"metadata": {"name": name.replace("_", "-"), **OWNER}, "spec": content}
        ]
        for name, content in contents.items()
    }


@pytest.mark.parametrize("kind", ["configmaps", "secrets", "requests.certs.example.com"])
def test_revisions_with_a_number_in_a_field_may_be_more(kind: str) -> None:
    direct = objects(kind, one_c={"image": "c", "revision": 1})
    way = objects(kind, one_b={"image": "b", "revision": 2}, one_c={"image": "c", "revision": 4})
    left, right = without_histories(direct, way)
    assert left == right != {}
    assert without_histories(way, direct) == (right, left)


def test_revisions_with_a_number_in_the_name_leave_the_newest_one() -> None:
    direct = objects(one_1={"image": "c"})
    way = objects(one_1={"image": "a"}, one_2={"image": "b"}, one_3={"image": "c"})
    left, right = without_histories(direct, way)
    assert [*left] == ["configmaps default/one-1"]
    assert [*right] == ["configmaps default/one-3"]


def test_revisions_with_generated_names_may_be_more() -> None:
    def history(*images: str) -> Snapshot:
        spec = [{"image": image, "revision": number} for number, image in enumerate(images, 1)]
        return {"configmaps default/one-*": [{"metadata": {"name": "one-*", **OWNER}, "spec": item} for item in spec]}

    left, right = without_histories(history("c"), history("a", "b", "c"))
    assert left == right != {}


A, B = {"image": "a", "revision": 1}, {"image": "b", "revision": 2}
LEFT_OVER: dict[str, tuple[Snapshot, Snapshot]] = {
    "the newest one is another": (objects(one_c={"image": "c", "revision": 1}), objects(one_a=A, one_b=B)),
    "the number is the same": (objects(one_b=B), objects(one_a=A, one_b=B)),
    "members of a set are alike": (objects(one_0={"port": 80}), objects(one_0={"port": 80}, one_1={"port": 80})),
    "a port is not the number of a revision": (
        objects(web={"port": 80, "name": "web"}),
        objects(web={"port": 80, "name": "web"}, old={"port": 8080, "name": "old"}),
    ),
    "there is no number": (objects(one_b={"image": "b"}), objects(one_a={"image": "a"}, one_b={"image": "b"})),
    "the control plane acts on it": (
        objects("deployments.apps", one_b={**B, "revision": 1}),
        objects("deployments.apps", one_a=A, one_b=B),
    ),
}


@pytest.mark.parametrize("why", LEFT_OVER)
def test_objects_that_are_not_of_a_history_stay(why: str) -> None:
    assert without_histories(*LEFT_OVER[why]) == LEFT_OVER[why]


def test_an_object_that_owns_others_is_not_a_revision() -> None:
    way = objects(one_a=A, one_b=B)
    child = {"metadata": {"name": "child", "ownerReferences": [{"uid": "<uid of configmaps default/one-a>"}]}}
    way["pods default/child"] = [child]
    direct = objects(one_b={**B, "revision": 1})
    left, right = without_histories(direct, way)
    assert left == direct
    assert "configmaps default/one-a" in right
