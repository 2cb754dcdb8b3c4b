"""Access: asks the API server whether a caller may see this process's own pages (TokenReview, SubjectAccessReview)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Final

from setpoint.client import ApiError, Client, TransportError
from setpoint.manager.http_server import Answer
from setpoint.meta import GroupResource, ObjectKey

ALLOWED_FOR: Final = 60.0
"""Seconds for which a positive answer is cached."""
REFUSED_FOR: Final = 30.0
MAX_REMEMBERED: Final = 1024
_What = str | tuple[GroupResource, ObjectKey]
"""The path or the object that is asked for."""


class TokenAccess:
    """Allows requests whose bearer token the API server accepts and whose user may ``get`` the path.

    The caller needs a ClusterRole with ``nonResourceURLs: [/metrics]`` and ``verbs: [get]``. This process needs
    permission to ``create`` ``tokenreviews`` and ``subjectaccessreviews``; the ClusterRole of controller-runtime is
    sufficient.

    *Guarantees*: every failure denies access. Tokens are not stored, only their digests.

    *Caveats*: a user who loses a permission keeps access for up to `ALLOWED_FOR` seconds.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._remembered: dict[tuple[bytes, _What], tuple[float, Answer | None]] = {}

    async def check(self, path: str, headers: Mapping[str, str]) -> Answer | None:
        """None if the request is allowed, otherwise the refusal: status 401 or 403, or 500 if the request to the API
        server failed.
        """
        return await self._check(path, headers)

    async def check_object(self, resource: GroupResource, key: ObjectKey, headers: Mapping[str, str]) -> Answer | None:
        """None if the user may ``get`` the object whose content is requested, otherwise the refusal, as in `check`."""
        return await self._check((resource, key), headers)

    async def _check(self, target: _What, headers: Mapping[str, str]) -> Answer | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Answer(401, b"unauthorized: a bearer token is required\n")
        key = (hashlib.sha256(token.encode()).digest(), target)
        now = asyncio.get_running_loop().time()
        remembered = self._remembered.get(key)
        if remembered is not None and now < remembered[0]:
            return remembered[1]
        try:
            refusal = await self._ask(target, token)
        except (ApiError, TransportError) as problem:
            return Answer(500, f"the request to the API server failed: {problem}\n".encode())
        self._remembered.pop(key, None)
        self._remembered[key] = (now + (ALLOWED_FOR if refusal is None else REFUSED_FOR), refusal)
        if len(self._remembered) > MAX_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return refusal

    async def _ask(self, target: _What, token: str) -> Answer | None:
        # Two modules of models, imported only when needed.
        from setpoint.models.authentication_v1 import TokenReview, TokenReviewSpec, UserInfo
        from setpoint.models.authorization_v1 import (
            NonResourceAttributes,
            ResourceAttributes,
            SubjectAccessReview,
            SubjectAccessReviewSpec,
        )

        review = await self._client.create(TokenReview(spec=TokenReviewSpec(token=token)))
        if review.status is None or not review.status.authenticated:
            return Answer(401, b"unauthorized: the API server does not accept this token\n")
        user = review.status.user or UserInfo()
        spec = SubjectAccessReviewSpec(
            user=user.username,
            groups=user.groups,
            uid=user.uid,
            extra=user.extra,
        )
        if isinstance(target, str):
            spec.non_resource_attributes = NonResourceAttributes(path=target, verb="get")
            named = target
        else:
            (group, plural), key = target
            spec.resource_attributes = ResourceAttributes(
                group=group, resource=plural, version="*", verb="get", namespace=key.namespace, name=key.name
            )
            named = f"{target[0]} {key}"
        access = await self._client.create(SubjectAccessReview(spec=spec))
        if access.status is not None and access.status.allowed:
            return None
        return Answer(403, f"forbidden: {user.username} may not get {named}\n".encode())
