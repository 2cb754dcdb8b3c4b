"""One difference between two CustomResourceDefinitions, and whom it hurts."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

__all__ = ["Change", "Severity"]

Severity = Literal["", "may", "breaks"]
"""``breaks``: what worked does not work any more. ``may``: it depends on what somebody does. ``""``: no harm."""


class Change(Struct, frozen=True, kw_only=True):
    """``stored``: objects that are in the cluster: they lose data, or can't be updated until somebody repairs them.
    ``writers``: manifests and programs that write: they are refused, or what they write is dropped. ``readers``:
    programs that read: a field is gone, or holds what they have never seen."""

    definition: str
    """The CustomResourceDefinition's name, ``mykinds.grp.example.com``."""
    version: str = ""
    field: str = ""
    """``spec.ports[].number``; empty for what is about the whole."""
    what: str
    """A word for machines: ``field-removed``, ``minimum-raised`` ..."""
    text: str
    """A sentence for people."""
    stored: Severity = ""
    writers: Severity = ""
    readers: Severity = ""

    @property
    def severity(self) -> Severity:
        """The worst of the three."""
        found = (self.stored, self.writers, self.readers)
        return "breaks" if "breaks" in found else "may" if "may" in found else ""

    @property
    def place(self) -> str:
        """``mykinds.grp.example.com v1alpha1 spec.replicas``."""
        return " ".join(filter(None, (self.definition, self.version, self.field)))
