"""The table of `setpoint.models.history`, below the models, whose errors name older kinds by it."""

from __future__ import annotations

from functools import cache
from typing import Any

from setpoint.meta import GroupVersionKind

def last_version(gvk: GroupVersionKind) -> str:
    """The last version of Kubernetes with a kind that the models don't have; ``""`` if none from 1.31 on had it."""
    minor = table()["until"].get(name_of(gvk))
    return "" if minor is None else f"1.{minor}"


def name_of(gvk: GroupVersionKind) -> str:
    """The name of a kind in the table."""
    return f"{gvk.api_version}/{gvk.kind}"


@cache
def table() -> dict[str, Any]:
    """The content of ``history.json.zst``, read once."""
    from pkgutil import get_data  # noqa: PLC0415 - most programs need none of these

    import msgspec  # noqa: PLC0415

    from setpoint import zstd  # noqa: PLC0415

    packed = get_data("setpoint.models", "history.json.zst")
    assert packed is not None
    return msgspec.json.decode(zstd.decompress(packed), type=dict[str, Any])
