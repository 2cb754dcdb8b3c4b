"""The wire form of AdmissionReview and ConversionReview.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from setpoint.meta import Status
from setpoint.models.authentication_v1 import UserInfo

ADMISSION_V1 = "admission.k8s.io/v1"
CONVERSION_V1 = "apiextensions.k8s.io/v1"


class Kind(Struct, frozen=True):
    """A kind with its group and version, each in its own field."""

    group: str = ""
    version: str = ""
    kind: str = ""


class NamedResource(Struct, frozen=True):
    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(Struct, kw_only=True, rename="camel"):
    """The API server's request. Objects are raw JSON; an absent object is empty or ``null``."""

    uid: str
    kind: Kind
    resource: NamedResource
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str
    user_info: UserInfo = field(default_factory=UserInfo)
    object: Raw = Raw()
    old_object: Raw = Raw()
    dry_run: bool | None = None
    options: dict[str, Any] | None = None


class Envelope(Struct, rename="camel"):
    """The common fields of all reviews."""

    api_version: str = ""
    kind: str = ""


class AdmissionReview(Envelope, rename="camel"):
    request: AdmissionRequest | None = None


class AdmissionResponse(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The response. ``patch`` is the text of a JSON patch, and is encoded in base64 on the wire. ``patch`` and
    ``patch_type`` are both set or both None.
    """

    uid: str = field()
    allowed: bool = field()
    status: Status | None = None
    patch: bytes | None = None
    patch_type: str | None = None
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}


class AdmissionReviewAnswer(Struct, kw_only=True, rename="camel"):
    response: AdmissionResponse
    kind: str = "AdmissionReview"
    api_version: str = ADMISSION_V1


class ConversionRequest(Struct, kw_only=True):
    uid: str
    desired_api_version: str = field(name="desiredAPIVersion")
    objects: list[Raw] = []


class ConversionReview(Envelope, rename="camel"):
    request: ConversionRequest | None = None
