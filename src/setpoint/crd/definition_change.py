"""A single change to a CustomResourceDefinition, and its consequences."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["", "may", "breaks"]
"""``breaks``: something that worked stops working. ``may``: something may stop working, depending on how it is used.
``""``: no harm.
"""


class Change(Struct, frozen=True, kw_only=True):
    """A change to a CustomResourceDefinition, with its effects. ``stored`` is the effect on the objects in the cluster:
    they lose data, or can't be updated until they are repaired. ``writers`` is the effect on manifests and on programs
    that write: their requests are refused, or fields are dropped from them. ``readers`` is the effect on programs that
    read: a field is gone, or has values that they don't expect.
    """

    definition: str
    """The CustomResourceDefinition's name, ``mykinds.grp.example.com``."""
    version: str = ""
    field: str = ""
    """The path of the field, such as ``spec.ports[].number``; empty for the whole object."""
    code: str
    """A machine-readable identifier of the change: ``field-removed``, ``minimum-raised`` ..."""
    text: str
    """The change, described in a sentence for users."""
    stored: Severity = ""
    writers: Severity = ""
    readers: Severity = ""

    @property
    def severity(self) -> Severity:
        """The worst of the three effects."""
        severities = (self.stored, self.writers, self.readers)
        return "breaks" if "breaks" in severities else "may" if "may" in severities else ""

    @property
    def place(self) -> str:
        """The definition, version and field: ``mykinds.grp.example.com v1alpha1 spec.replicas``."""
        return " ".join(filter(None, (self.definition, self.version, self.field)))
