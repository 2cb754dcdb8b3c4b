"""Verifies the tokens with which API servers identify themselves to admission webhooks (KEP-6060)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Final

import msgspec

from setpoint.client import ApiError, Client, TransportError
from setpoint.serving import Reply
from setpoint.webhook.webhooks import failed

ACCEPTED_FOR: Final = 60.0
"""Seconds for which an accepted token is not reviewed again. API servers issue it for ten minutes."""
MAX_REMEMBERED: Final = 1024
_WITHIN: Final = 5.0
_AT_ONCE: Final = 8
"""The number of reviews under way at a time: any client can send tokens."""
_GROUPS: Final = "attestation.authentication.kubernetes.io/admissionReviewAPIGroups"
_CONFIGURATIONS: Final = tuple(
    f"authentication.kubernetes.io/{kind}webhookconfiguration-name" for kind in ("mutating", "validating")
)


class _Resource(msgspec.Struct):
    group: str = ""


class _Request(msgspec.Struct):
    resource: _Resource


class _Review(msgspec.Struct):
    request: _Request


class CallerTokens:
    """Accepts tokens that are bound to a webhook configuration, are meant for the webhook that is called, and attest
    the API group of the review's resource or ``*``, as Kubernetes 1.37 issues them (KEP-6060, alpha).

    The API server verifies the signature, the expiry, the audience and that the configuration still exists
    (TokenReview), so this process needs permission to ``create`` ``tokenreviews``.

    *Guarantees*: every failure refuses the request. Tokens are not stored, only their digests.

    *Caveats*: a token stays accepted for up to `ACCEPTED_FOR` seconds after the API server would refuse it.

    Args:
        client: sends the TokenReviews.
        address: the address that API servers call, without the path of a webhook:
            ``https://SERVICE.NAMESPACE.svc:443``, or the URL in the configuration. With the path of the request, it is
            the audience that a token must have.
        required: whether requests without a token are refused.
    """

    def __init__(self, client: Client, address: str, *, required: bool = False) -> None:
        self.required = required
        self._client = client
        self._address = address.rstrip("/")
        self._accepted: dict[tuple[bytes, str], tuple[float, str]] = {}
        """The group of each accepted token, with its time. Refused ones are not kept: any client could fill it."""
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def refusal(self, token: str, path: str, body: bytes) -> Reply | None:
        """The refusal of the review in ``body``, sent to ``path`` with ``token``: status 401 for the token, 403 for the
        review's resource, 500 if the token can't be verified. None if the token allows the review.
        """
        key = (hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest(), path)
        group: str | Reply | None = self._group(key)
        if group is None:
            try:
                async with asyncio.timeout(_WITHIN), self._places:
                    group = self._group(key)  # another request's review may have ended meanwhile
                    if group is None:
                        until = asyncio.get_running_loop().time() + ACCEPTED_FOR
                        group = await self._review(token, path)
                        if isinstance(group, str):
                            self._accept(key, until, group)
            except (ApiError, TransportError, TimeoutError) as problem:
                reason = str(problem) or f"no answer in {_WITHIN:g} s"
                text = f"the token can't be verified, since the API server did not review it: {reason}"
                return failed(500, "InternalError", text)
        if isinstance(group, Reply):
            return group
        return None if group == "*" else _group_refusal(group, body)

    def _group(self, key: tuple[bytes, str]) -> str | None:
        until, group = self._accepted.get(key, (0.0, None))
        return group if asyncio.get_running_loop().time() < until else None

    def _accept(self, key: tuple[bytes, str], until: float, group: str) -> None:
        self._accepted.pop(key, None)
        self._accepted[key] = until, group
        if len(self._accepted) > MAX_REMEMBERED:
            del self._accepted[next(iter(self._accepted))]

    async def _review(self, token: str, path: str) -> Reply | str:
        """The API group that a token attests, or its refusal."""
        from setpoint.models.authentication_v1 import TokenReview, TokenReviewSpec  # only with the first token

        audience = f"{self._address}{path}"
        review = await self._client.create(TokenReview(spec=TokenReviewSpec(token=token, audiences=[audience])))
        status = review.status
        if status is None or not status.authenticated or audience not in (status.audiences or ()):
            reason = f" ({status.error})" if status is not None and status.error else ""
            text = f"the API server does not accept the token for {audience}{reason}"
            return failed(401, "Unauthorized", text)
        extra = (status.user.extra if status.user is not None else None) or {}
        groups = extra.get(_GROUPS) or []
        if sum(key in extra for key in _CONFIGURATIONS) != 1 or len(groups) != 1:
            text = "the token is not bound to a webhook configuration, so it does not identify an API server"
            return failed(401, "Unauthorized", text)
        return groups[0]


def _group_refusal(group: str, body: bytes) -> Reply | None:
    """The refusal of a review about a resource of another group than ``group``; None if it is of this one. A body that
    is not a review is refused, too.
    """
    try:
        requested = msgspec.json.decode(body, type=_Review).request.resource.group
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return failed(400, "BadRequest", "the body is not a valid AdmissionReview")
    if requested == group:
        return None
    text = f"the token is for reviews of the API group {group!r}, not of {requested[:200]!r}"
    return failed(403, "Forbidden", text)
