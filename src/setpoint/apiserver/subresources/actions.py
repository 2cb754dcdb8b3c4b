"""Handlers of kinds whose objects are returned but never stored (reviews), and of actions on objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from setpoint.apiserver.http_types import Response
from setpoint.apiserver.identity.tokens import create_token
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.subresources.namespaces import finalize_namespace
from setpoint.apiserver.subresources.pods import bind, bind_pod, evict_pod
from setpoint.apiserver.subresources.reviews import REVIEWS

ACTIONS: Final[dict[tuple[str, str], Callable[[Call], Response]]] = {
    ("pods", "binding"): bind_pod,
    ("bindings", ""): bind,
    ("pods", "eviction"): evict_pod,
    ("namespaces", "finalize"): finalize_namespace,
    ("serviceaccounts", "token"): create_token,
    **{(name, ""): handler for name, handler in REVIEWS.items()},
}
"""The handlers by resource and subresource; the subresource is empty for kinds that are never stored."""
