"""Authentication: identifies the user who sends a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.http_types import IncomingRequest, UserInfo
from setpoint.apiserver.identity.bootstrap_tokens import bootstrapper
from setpoint.apiserver.identity.keys import BadTokenError
from setpoint.apiserver.identity.oidc import OidcProvider
from setpoint.apiserver.identity.tokens import AccountTokens
from setpoint.apiserver.identity.users import ANONYMOUS, ANONYMOUS_USER, AUTHENTICATED
from setpoint.apiserver.storage import Storage

_INVALID: Final = "invalid bearer token"


class Authentication(msgspec.Struct, frozen=True):
    """The methods by which an `ApiServer` authenticates users.

    ``static``: users by token (`read_tokens`). ``bootstrap``: whether bootstrap tokens are accepted. ``oidc``:
    providers of identity tokens. ``anonymous``: whether a request without credentials is made as ``system:anonymous``;
    otherwise it is refused with 401. The TLS context of the front verifies client certificates, and `AccountTokens`
    verifies tokens of service accounts; valid certificates and tokens of service accounts are always accepted.
    """

    static: Mapping[str, UserInfo] = msgspec.field(default_factory=dict)
    bootstrap: bool = True
    oidc: Sequence[OidcProvider] = ()
    anonymous: bool = True


class TokenUsers:
    """Finds the user of a token with the help of one server's `Authentication`, its service account tokens, and its
    storage.
    """

    def __init__(self, storage: Storage, accounts: AccountTokens, authentication: Authentication | None) -> None:
        self._storage = storage
        self._accounts = accounts
        self._authentication = authentication or Authentication(bootstrap=False)

    def user_of(self, token: str, audiences: Sequence[str], now: datetime) -> tuple[UserInfo, list[str]]:
        """The token's user, and those of ``audiences`` (default: the server's own) for which the token is valid.

        Raises:
            BadTokenError: the token does not belong to any user, or is not valid for any of the audiences.
            Suspended: the keys of an identity provider have to be fetched first.
        """
        own = self._accounts.audiences
        wanted = audiences or own
        authentication = self._authentication
        user = authentication.static.get(token)
        if user is None and authentication.bootstrap:
            user = bootstrapper(self._storage, now, token)
        if user is None:
            try:
                account = self._accounts.user_of(self._storage, now, token, wanted)
                if account is not None:
                    return _authenticated(account[0]), account[1]
                for provider in authentication.oidc:
                    user = user or provider.user_of(now, token)
            except BadTokenError as problem:
                raise BadTokenError(f"[{_INVALID}, {problem}]") from None
        shared = [name for name in wanted if name in own]
        if user is None or not shared:
            raise BadTokenError(_INVALID)
        return _authenticated(user), shared

    def of_request(self, request: IncomingRequest, now: datetime) -> UserInfo:
        """The user of a request from the network.

        Raises:
            ApiStatusError: 401 if the request can't be authenticated.
            Suspended: the keys of an identity provider have to be fetched first.
        """
        peer = getattr(request, "peer", None)
        if peer is not None and peer.user is not None:
            return _authenticated(peer.user)
        token = bearer_token(request)
        if token:
            try:
                return self.user_of(token, (), now)[0]
            except BadTokenError:
                raise unauthorized() from None
        if not self._authentication.anonymous:
            raise unauthorized()
        return ANONYMOUS_USER


def bearer_token(request: IncomingRequest) -> str:
    """The bearer token of a request: the second of the words that single spaces separate, as for a kube-apiserver;
    empty if it has none.
    """
    words = request.headers.get("authorization", "").strip().split(" ")
    return words[1] if len(words) > 1 and words[0].lower() == "bearer" else ""


def unauthorized() -> ApiStatusError:
    return ApiStatusError(401, "Unauthorized", "Unauthorized")


def _authenticated(user: UserInfo) -> UserInfo:
    """The user, with the group of all authenticated users added, unless the user is anonymous."""
    if user.name == ANONYMOUS or AUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
