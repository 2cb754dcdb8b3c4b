"""Rules for role bindings; `setpoint.apiserver.strategies.roles` has those for roles."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.strategies.rules.rule_table import Check, Place, Row, immutable, named, needed, one_of, row
from setpoint.meta.names import dns1123_subdomain, path_segment
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, not_supported, required

_GROUP: Final = "rbac.authorization.k8s.io"


def _subject(*, namespaced: bool) -> Check:
    def check(place: Place) -> list[FieldError]:
        subject, path = place.value, place.path
        name, group, kind = subject.get("name", ""), subject.get("apiGroup", ""), subject.get("kind", "")
        errors = [] if name else [required(f"{path}.name")]
        if kind == "ServiceAccount":
            if name:
                errors += [invalid(f"{path}.name", name, text) for text in dns1123_subdomain(name)]
            if group:
                errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
            if not namespaced and not subject.get("namespace"):
                errors.append(required(f"{path}.namespace"))
        elif kind in ("User", "Group"):
            if group != _GROUP:
                errors.append(not_supported(f"{path}.apiGroup", group, (_GROUP,)))
        else:
            errors.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
        return errors

    return check


def _immutable_reference(place: Place) -> list[FieldError]:
    """The errors for a changed reference, with the value in the form of a Go struct."""
    value = place.value or {}
    bad_value = {"APIGroup": value.get("apiGroup", ""), "Kind": value.get("kind", ""), "Name": value.get("name", "")}
    return [invalid(error.field, bad_value, error.detail) for error in immutable(place)]


def _binding(*kinds: str, namespaced: bool) -> tuple[Row, ...]:
    return (
        row("roleRef.apiGroup", one_of(_GROUP, empty=True)),
        row("roleRef.kind", one_of(*kinds, empty=True)),
        row("roleRef.name", needed(), named(path_segment)),
        row("subjects[]", _subject(namespaced=namespaced)),
        row("roleRef", _immutable_reference),
    )


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "rolebindings.rbac.authorization.k8s.io": _binding("Role", "ClusterRole", namespaced=True),
    "clusterrolebindings.rbac.authorization.k8s.io": _binding("ClusterRole", namespaced=False),
}
