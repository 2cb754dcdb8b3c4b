"""Names and groups of service accounts, nodes, and authenticated and anonymous users."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.http_types import UserInfo
from setpoint.meta.names import dns1123_label, dns1123_subdomain

ANONYMOUS: Final = "system:anonymous"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
"""The key of the user's extra value that holds the id of the request's credential."""
ANONYMOUS_USER: Final = UserInfo(ANONYMOUS, groups=(UNAUTHENTICATED,))
_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "system:node:"


def account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{_ACCOUNT}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def account_of(user: str) -> tuple[str, str] | None:
    """The namespace and name of the service account with this user name; None for other users."""
    if not user.startswith(_ACCOUNT):
        return None
    parts = user.removeprefix(_ACCOUNT).split(":")
    if len(parts) != 2 or dns1123_label(parts[0]) or dns1123_subdomain(parts[1]):
        return None
    return parts[0], parts[1]


def node_of(user: str) -> str | None:
    """The name of the node to which this user name belongs; None for other users."""
    name = user.removeprefix(_NODE)
    return None if name == user or dns1123_subdomain(name) else name
