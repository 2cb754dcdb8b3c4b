"""The embedded Kubernetes API server: a core without sockets, its storage, and an HTTP front.

async with ApiServer() as server, HttpFront(server, port=0) as front:
    print(front.url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint.apiserver.authorization.access_record import AccessRecord
    from setpoint.apiserver.authorization.attributes import Attributes
    from setpoint.apiserver.authorization.authorizer import Authorizer, Decision
    from setpoint.apiserver.authorization.rbac import Rbac
    from setpoint.apiserver.http.http_server import HttpFront, OpenAddressError, PortTakenError
    from setpoint.apiserver.http_types import Peer, Request, Response, UserInfo
    from setpoint.apiserver.identity.authentication import Authentication
    from setpoint.apiserver.identity.tokens import AccountTokens
    from setpoint.apiserver.server import Access, ApiServer
    from setpoint.apiserver.storage import MemoryStorage, SqliteStorage, Storage, StorageError
    from setpoint.apiserver.webhooks import CallFailed, HttpCaller, InProcessCaller, Target, WebhookCaller

__all__ = [
    "Access",
    "AccessRecord",
    "AccountTokens",
    "ApiServer",
    "Attributes",
    "Authentication",
    "Authorizer",
    "CallFailed",
    "Decision",
    "HttpCaller",
    "HttpFront",
    "InProcessCaller",
    "MemoryStorage",
    "OpenAddressError",
    "Peer",
    "PortTakenError",
    "Rbac",
    "Request",
    "Response",
    "SqliteStorage",
    "Storage",
    "StorageError",
    "Target",
    "UserInfo",
    "WebhookCaller",
]

_HOMES = {
    "AccessRecord": "authorization.access_record",
    "AccountTokens": "identity.tokens",
    "Access": "server",
    "ApiServer": "server",
    "Attributes": "authorization.attributes",
    "Authentication": "identity.authentication",
    "Authorizer": "authorization.authorizer",
    "CallFailed": "webhooks",
    "Decision": "authorization.authorizer",
    "HttpCaller": "webhooks",
    "HttpFront": "http.http_server",
    "InProcessCaller": "webhooks",
    "MemoryStorage": "storage",
    "OpenAddressError": "http.http_server",
    "Peer": "http_types",
    "PortTakenError": "http.http_server",
    "Rbac": "authorization.rbac",
    "Request": "http_types",
    "Response": "http_types",
    "SqliteStorage": "storage",
    "Storage": "storage",
    "StorageError": "storage",
    "Target": "webhooks",
    "UserInfo": "http_types",
    "WebhookCaller": "webhooks",
}


if not TYPE_CHECKING:  # else a misspelt name would be of type Any to type checkers

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
