"""The usage of hollow containers: what annotations give to a pod is what its containers use together."""

from __future__ import annotations

import pytest

from setpoint.cluster.nodes.resource_usage import ANNOTATION, annotated, milli, usage_of


@pytest.mark.parametrize(("whole", "parts"), [("100m", "34m 33m 33m"), ("1m", "1m 0 0"), ("1u", "1m 0 0")])
def test_the_parts_of_a_pods_usage_add_up_to_it(whole: str, parts: str) -> None:
    result = annotated({f"{ANNOTATION}cpu": whole}, ["a", "b", "c"], "cpu")
    assert " ".join(map(str, result.values())) == parts
    assert sum(map(milli, result.values())) == milli(whole)


def test_the_largest_usage_is_divided_among_containers() -> None:
    running = [{"name": name, "state": {"running": {}}} for name in ("a", "b")]
    metadata = {"annotations": {f"{ANNOTATION}cpu": "1e999"}}
    result = usage_of({"metadata": metadata, "status": {"containerStatuses": running}})
    assert sum(milli(item["cpu"]) for item in result.values()) == milli("1e999")
