"""Admission of objects in a version other than that of the declared class.

An admission is called for the version that is stored, and accepts requests for every version of its kind: while one
release of a program replaces another, either of them may receive requests that are meant for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from setpoint.client.patches import edited
from setpoint.crd import ConversionError, CustomResource, Versions
from setpoint.crd.newest_version import newest_of
from setpoint.meta import Object, Status, resource_of
from setpoint.schema import validate
from setpoint.webhook.admission import Admission, Role
from setpoint.webhook.admission_decision import UNREADABLE, Misdirected, decide, invalid, status
from setpoint.webhook.review import NO_READS, Reads
from setpoint.webhook.review_messages import AdmissionRequest, AdmissionResponse

_ABSENT: Final = (b"", b"null")


def _versions(admission: Admission[Any]) -> Versions | None:
    """The versions of an admission's kind; None for built-in kinds, and for subresources that have a different kind."""
    kind = admission.kind
    if not issubclass(kind, CustomResource) or admission.resource != resource_of(kind):
        return None
    return Versions.of(newest_of(kind))


def other_versions(admission: Admission[Any]) -> list[str]:
    """The other versions of the admission's kind for which it accepts requests; [] if it accepts none, as with the
    match policy ``Exact`` or a built-in kind.
    """
    versions = _versions(admission) if admission.match.policy == "Equivalent" else None
    return [] if versions is None else [name for name in versions.versions if name != admission.gvk.version]


def called_version(admission: Admission[Any], admissions: Iterable[Admission[Any]]) -> str:
    """The version of the kind for which the webhook is registered: the stored one, because the previous release of a
    program supports it, too.

    It is the class's own version if the admission accepts no other versions (see `other_versions`), if one of
    ``admissions`` is for a different version of the kind, or if the number of stored versions is not one.
    """
    versions = _versions(admission)
    if versions is None or admission.match.policy != "Equivalent":
        return admission.resource.version
    kind = (admission.gvk.group, admission.gvk.kind)
    alike = {other.gvk.version for other in admissions if (other.gvk.group, other.gvk.kind) == kind}
    if len(alike) > 1:
        return admission.resource.version
    stored = [name for name, kind in versions.by_name.items() if _is_stored(kind)]
    return stored[0] if len(stored) == 1 else admission.resource.version


def _is_stored(kind: type[Object]) -> bool:
    return issubclass(kind, CustomResource) and kind.definition.storage


class Translation:
    """Decides requests for a different ``version`` of an admission's kind: converts objects to the class's own version,
    and patches back to the request's version.

    Conversions lose nothing (`Versions`), so a patch contains exactly what the functions have changed. The field paths
    in a function's errors are those of the class.
    """

    def __init__(self, admission: Admission[Any], version: str) -> None:
        versions = _versions(admission)
        assert versions is not None
        self._admission = admission
        self._versions = versions
        self._version = version

    async def decide(self, role: Role, request: AdmissionRequest, reads: Reads = NO_READS) -> AdmissionResponse:
        """As `setpoint.webhook.admission_decision.decide`.

        Raises:
            Misdirected: the request is for a different version or kind.
        """
        own = self._admission.gvk.version
        if request.kind.version != self._version:
            actual = f"{request.kind.group}/{request.kind.version} {request.kind.kind}"
            raise Misdirected(f"this webhook is for {self._version} of {self._admission.gvk.kind}, not for {actual}")
        try:
            new, old = _document(request.object), _document(request.old_object)
            here, stored = self._up(new), self._up(old)
        except (*UNREADABLE, ConversionError) as problem:
            return AdmissionResponse(
                uid=request.uid, allowed=False, status=self._misfit(request) or status(400, "BadRequest", str(problem))
            )
        translated = replace(
            request, kind=replace(request.kind, version=own), object=_raw(here), old_object=_raw(stored)
        )
        response = await decide(self._admission, role, translated, reads)
        if not response.allowed and (misfit := self._misfit(request)) is not None:
            response.status = misfit
        if response.patch is not None:
            from setpoint.patch import json_diff, json_patch  # only requests for other versions need them

            changed = json_patch.apply(here, msgspec.json.decode(response.patch))
            wanted = edited(new, self._down(here), self._down(changed))
            operations = json_diff.diff(new, wanted)
            response.patch = msgspec.json.encode(operations) if operations else None
            response.patch_type = "JSONPatch" if operations else None
        return response

    def _up(self, document: Any) -> Any:
        return None if document is None else self._versions.convert(document, self._admission.gvk.version)

    def _down(self, document: Any) -> Any:
        return self._versions.convert(document, self._version)

    def _misfit(self, request: AdmissionRequest) -> Status | None:
        """The refusal of an object that the schema of its own version does not allow, with the messages and field paths
        of that schema; None if the schema allows the object, or its change.
        """
        try:
            document, stored = _document(request.object), _document(request.old_object)
        except UNREADABLE:
            return None
        if document is None:
            return None
        errors = validate(self._versions.schemas[self._version], document, old=UNSET if stored is None else stored)
        return invalid(self._admission, request.name, errors) if errors else None


def _document(raw: msgspec.Raw) -> Any:
    return None if bytes(raw) in _ABSENT else msgspec.json.decode(raw)


def _raw(document: Any) -> msgspec.Raw:
    return msgspec.Raw() if document is None else msgspec.Raw(msgspec.json.encode(document))
