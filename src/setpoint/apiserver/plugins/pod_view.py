"""A pod as the checks of the Pod Security Standards see it, and phrases for the messages of these checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

JsonObject = dict[str, Any]
CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


class PodView:
    """A pod, with the properties that the checks need."""

    __slots__ = ("annotations", "containers", "security", "spec", "version")

    def __init__(self, metadata: JsonObject, spec: JsonObject, version: int) -> None:
        self.annotations: dict[str, str] = metadata.get("annotations") or {}
        self.spec = spec
        self.security: JsonObject = spec.get("securityContext") or {}
        self.version = version
        self.containers: list[tuple[str, JsonObject, JsonObject]] = [
            (container.get("name", ""), container, container.get("securityContext") or {})
            for kind in CONTAINERS
            for container in spec.get(kind) or ()
        ]
        """The name of each container, the container, and its security context."""

    @property
    def own_users(self) -> bool:
        """Whether this pod is exempt from the checks that user namespaces relax, that is, whether it has a user
        namespace (in which root is not the node's root) and the policy's version is at least 1.35.
        """
        return self.spec.get("hostUsers") is False and self.version >= 35

    @property
    def is_windows(self) -> bool:
        return (self.spec.get("os") or {}).get("name") == "windows" and self.version >= 25


def quoted(items: Sequence[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def named(noun: str, names: Sequence[str]) -> str:
    return f"{noun if len(names) == 1 else f'{noun}s'} {quoted(names)}"


def who_sets(pod: bool, containers: Sequence[str]) -> str:
    parts = ["pod"] if pod else []
    return " and ".join([*parts, named("container", containers)] if containers else parts)
