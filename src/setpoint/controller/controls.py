"""Controls: the annotations and the switch with which people stop the reconciles of objects and start them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from setpoint.cache import HeadUpdate
from setpoint.meta import Head, Resource
from setpoint.meta.names import qualified_name

PAUSED: Final = "Paused"
"""The type of the condition that a paused object has, if its status belongs to its controller."""
PAUSED_REASON: Final = "PausedByAnnotation"
"""The reason in that condition. A condition `PAUSED` with another reason belongs to the user's own function."""
HANDLED: Final = "last_handled_reconcile_at"
"""The field of a status that acknowledges the last request for a reconcile."""


class PausedControllers(Protocol):
    """The controllers that people have paused as a whole."""

    def reason(self, controller: str) -> str:
        """The reason why the controller is paused; ``""`` if it is not."""
        ...

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls ``listener`` after every change. The returned function removes the listener."""
        ...


class Controls(NamedTuple):
    """The names of the annotations that control the reconciles of an object; a control with an empty name is off."""

    pause: str
    request: str = ""

    @property
    def acknowledgement(self) -> str:
        """The annotation that has the last request that was carried out, for kinds whose status has no field for it."""
        prefix, slash, _ = self.request.rpartition("/")
        return f"{prefix}{slash}reconciled-at"

    def open_request(self, annotations: Mapping[str, str], acknowledged: str | None) -> str:
        """The value of a request for a reconcile that has not been carried out yet; ``""`` if there is none.
        ``acknowledged`` is the last request in the status; None if the status has no field for it.
        """
        value = annotations.get(self.request, "") if self.request else ""
        last = annotations.get(self.acknowledgement) if acknowledged is None else acknowledged
        return "" if value == last else value

    def pause_message(self, annotations: Mapping[str, str], *, deleting: bool = False) -> str:
        """A sentence that says why an object with these annotations is paused; ``""`` if it is not paused. Every value
        pauses the object except ``false``; a value other than ``true`` is the reason.
        """
        value = annotations.get(self.pause)
        if value is None or value == "false" or not self.pause:
            return ""
        text = f"no reconcile before the annotation {self.pause} is removed"
        if deleting:
            text = f"the deletion waits until the annotation {self.pause} is removed"
        return text if value in ("", "true") else f"{text}: {value}"

    def pauses_differ(self, old: Head, new: Head) -> bool:
        """Whether an object was paused or resumed, or for another reason."""
        return old.annotations.get(self.pause) != new.annotations.get(self.pause)

    def is_requested(self, heads: HeadUpdate) -> bool:
        """Whether a change of an object requests a reconcile."""
        value = heads.new.annotations.get(self.request)
        return bool(value) and value != heads.old.annotations.get(self.request)


def control_annotation(word: str, chosen: str | None, resource: Resource) -> str:
    """The name of an annotation that controls objects of ``resource``: the ``chosen`` one or, without a choice,
    ``GROUP/word``, as far as the kind has a group of its own; ``""`` for built-in kinds.

    Raises:
        ValueError: the chosen name is not a qualified name.
    """
    if chosen is None:
        is_own = "." in resource.group and not resource.group.endswith(".k8s.io")
        return f"{resource.group}/{word}" if is_own else ""
    if chosen and (problems := qualified_name(chosen)):
        raise ValueError(f"annotation {chosen!r}: {problems[0]}")
    return chosen
