"""The embedded Kubernetes API server: a core without sockets, its storage, and an HTTP front.

async with ApiServer() as server, HttpFront(server, port=0) as front:
    print(front.url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint.apiserver.front import HttpFront, OpenAddressError, PortTakenError
    from setpoint.apiserver.hooks import CallFailed, HttpCaller, InProcessCaller, Target, WebhookCaller
    from setpoint.apiserver.http_types import Request, Response, UserInfo
    from setpoint.apiserver.server import ApiServer
    from setpoint.apiserver.storage import MemoryStorage, SqliteStorage, Storage, StorageError

__all__ = [
    "ApiServer",
    "CallFailed",
    "HttpCaller",
    "HttpFront",
    "InProcessCaller",
    "MemoryStorage",
    "OpenAddressError",
    "PortTakenError",
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
    "ApiServer": "server",
    "CallFailed": "hooks",
    "HttpCaller": "hooks",
    "HttpFront": "front",
    "InProcessCaller": "hooks",
    "MemoryStorage": "storage",
    "OpenAddressError": "front",
    "PortTakenError": "front",
    "Request": "http_types",
    "Response": "http_types",
    "SqliteStorage": "storage",
    "Storage": "storage",
    "StorageError": "storage",
    "Target": "hooks",
    "UserInfo": "http_types",
    "WebhookCaller": "hooks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
