"""Versions: resource versions that controllers keep are compared by what they are versions of."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from setpoint.simulation.trace.history import History


def of_name(name: str) -> Callable[[int], bytes]:
    return lambda revision: msgspec.json.encode(
        {"metadata": {"name": name, "uid": f"{name}-uid", "resourceVersion": str(revision)}}
    )


def test_the_version_of_a_list_is_the_same_whether_or_not_a_fault_has_led_to_an_event() -> None:
    texts = []
    for events in (0, 2):
        history = History(lambda: 0.0)
        history.recording = True
        history.put("configmaps", "default", "a", of_name("a"), expected=0)
        for number in range(events):
            history.put("events.events.k8s.io", "default", f"e{number}", of_name(f"e{number}"), expected=0)
        listed = history.revision
        history.put("configmaps", "default", "b", of_name("b"), expected=0)
        texts.append((history.versions()[str(listed)], history.versions()[str(history.revision)]))
    assert texts == [("newest version of configmaps default/a", "newest version of configmaps default/b")] * 2
