"""Status: an API server's report, usually of an error (``meta.k8s.io/v1``)."""

from __future__ import annotations

from msgspec import Struct, field

from setpoint.meta.object_meta import ListMeta


class StatusCause(Struct, kw_only=True, omit_defaults=True):
    """A cause of an error, with its field in dotted form (``spec.containers[0].image``)."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct, kw_only=True, omit_defaults=True):
    """The object or collection that the failed request was for. As in upstream, ``kind`` holds the plural of the
    resource.
    """

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = []
    retry_after_seconds: int = field(name="retryAfterSeconds", default=0)


class Status(Struct, kw_only=True, omit_defaults=True):
    """The body of every error answer, and of some other answers.

    ``code`` is the HTTP status; ``reason`` is a machine-readable word such as ``NotFound``.
    """

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None
    metadata: ListMeta | None = None
