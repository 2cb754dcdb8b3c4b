"""Impersonation: whom the ``Impersonate-`` headers of a request name. Everybody may act as anybody here."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from setpoint.apiserver.errors import bad_request
from setpoint.apiserver.http_types import IncomingRequest, UserInfo

__all__ = ["impersonated"]

_EXTRA: Final = "impersonate-extra-"
_ACCOUNT: Final = "system:serviceaccount:"
_AUTHENTICATED: Final = "system:authenticated"
_UNAUTHENTICATED: Final = "system:unauthenticated"
_ANONYMOUS: Final = "system:anonymous"


def impersonated(request: IncomingRequest) -> UserInfo | None:
    """None if the request acts as nobody else.

    Who is known to the API server belongs to ``system:authenticated``; a service account without groups belongs to
    those of its kind and namespace.

    Raises:
        ApiStatusError: 400 for a group, uid or extra value without a user.
    """
    named = {name: value for name, value in request.headers.items() if name.startswith("impersonate-")}
    if not named:
        return None
    user = _values(named, "impersonate-user")
    groups = [group for group in _values(named, "impersonate-group") if group]
    uid = _values(named, "impersonate-uid")
    extra = {
        unquote(name.removeprefix(_EXTRA)).lower(): tuple(value.split("\n"))
        for name, value in named.items()
        if name.startswith(_EXTRA) and name != _EXTRA
    }
    if not user or not user[0]:
        if groups or extra or any(uid):
            raise bad_request("impersonating a group, a uid or extra values without impersonating a user")
        return None
    name = user[0]
    if not groups and name.startswith(_ACCOUNT) and name.count(":") == 3:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{name.split(':')[2]}"]
    if name == _ANONYMOUS:
        if _UNAUTHENTICATED not in groups:
            groups.append(_UNAUTHENTICATED)
    elif _AUTHENTICATED not in groups and _UNAUTHENTICATED not in groups:
        groups.append(_AUTHENTICATED)
    return UserInfo(name, uid[0] if uid else "", tuple(groups), extra)


def _values(headers: dict[str, str], name: str) -> list[str]:
    value = headers.get(name)
    return [] if value is None else value.split("\n")
