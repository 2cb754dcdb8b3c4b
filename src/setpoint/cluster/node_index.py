"""Node index: finds the pods of a node. The controllers that declare it share one index, since it is the same."""

from __future__ import annotations

from typing import Final

import msgspec

NODE_INDEX: Final = "node"


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class PlacedSpec(msgspec.Struct):
    """The fields of a pod that name its node."""

    spec: _Spec


def node_of(pod: PlacedSpec) -> str | None:
    return pod.spec.node_name or None
