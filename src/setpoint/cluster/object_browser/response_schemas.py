"""The JSON answers that an embedded cluster's page receives about the cluster's objects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from setpoint.cluster.object_browser.object_history import Version
from setpoint.cluster.object_browser.text_links import Part
from setpoint.controller.explain.explanation import AttemptEntry
from setpoint.controller.explain.object_listing import ConditionEntry, EventEntry, Listed
from setpoint.meta.owner_tree import TreeNode


class KindSummary(msgspec.Struct, rename="camel", kw_only=True):
    """A stored resource. ``name`` is PLURAL or PLURAL.GROUP, and ``attention`` is the number of its objects that are
    neither in their wanted state nor paused.
    """

    name: str
    kind: str
    api_version: str
    custom: bool
    objects: int
    attention: int


class Cause(msgspec.Struct, rename="camel", kw_only=True):
    """An object that is the cause of another object's state. ``said`` is the text in pieces, and ``more`` is the number
    of further objects with the same reason.
    """

    resource: str
    kind: str
    key: str
    state: str
    text: str
    parts: list[Part]
    more: int


class With(msgspec.Struct, rename="camel", kw_only=True):
    """An object that has the same problem as the object of a `Row`."""

    resource: str
    kind: str
    key: str
    state: str


class Row(Listed, kw_only=True):
    """A problem of a cluster, or an object without one. ``ready`` says how many of the object's parts are ready (``1 of
    3 ready``); it is ``""`` if the object does not count its parts. ``said`` is the text in pieces. ``see`` has the
    objects that are the cause of its state, one for each reason, the worst first. ``others`` are the first of the
    objects that have the same problem, and ``more`` is the number of further ones.
    """

    ready: str
    parts: list[Part]
    see: list[Cause]
    others: list[With]
    more: int


class By(msgspec.Struct, rename="camel", kw_only=True):
    """A controller of the control plane, and the state that it reports for the object. The state is ``warned`` if the
    controller is idle, the object is not as wanted, and the controller's last event about it is a warning. ``timeline``
    has its last reconciles of the object, the oldest first.
    """

    controller: str
    state: str
    text: str
    timeline: list[AttemptEntry]


class Pair(msgspec.Struct, rename="camel", kw_only=True):
    """A field with a wanted value, and the field with the corresponding actual value."""

    wanted: str
    wanted_value: Any
    actual: str
    actual_value: Any
    differs: bool


class StoredObject(msgspec.Struct, rename="camel", kw_only=True):
    """An object as it is stored, with further facts about it. ``hidden`` describes the data that are not shown.
    ``holds_up`` are the first of the objects that are not in their wanted state because of this one, and ``more`` is
    the number of further ones. ``owners`` and ``owned`` are the objects above and below it, and ``more_owned`` says
    whether there are more below it; see `owners_above` and `owned_tree`.
    """

    resource: str
    kind: str
    api_version: str
    key: str
    revision: int
    state: str
    text: str
    parts: list[Part]
    since: datetime | None
    ready: str
    see: list[Cause]
    holds_up: list[TreeNode]
    more: int
    conditions: list[ConditionEntry]
    controllers: list[By]
    owners: list[list[TreeNode]]
    owned: list[TreeNode]
    more_owned: bool
    events: list[EventEntry]
    pairs: list[Pair]
    yaml: str
    hidden: str
    versions: list[Version]
