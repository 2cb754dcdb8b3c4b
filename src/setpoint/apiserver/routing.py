"""Finds the handler of a request for a resource, by method, subresource and verb."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from setpoint.apiserver.errors import (
    ApiStatusError,
    method_not_supported,
    no_such_path,
    not_found,
)
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import ListOptions
from setpoint.apiserver.subresources.actions import ACTIONS
from setpoint.apiserver.subresources.containers import CONNECTIONS, log
from setpoint.apiserver.subresources.scale import get_scale, patch_scale, update_scale
from setpoint.apiserver.verbs.component_statuses import get_component_status, list_component_statuses
from setpoint.apiserver.verbs.create import create
from setpoint.apiserver.verbs.delete import delete, delete_collection
from setpoint.apiserver.verbs.get_list import get, list_objects
from setpoint.apiserver.verbs.patch import patch
from setpoint.apiserver.verbs.update import update
from setpoint.apiserver.verbs.usage import get_usage, list_usage
from setpoint.apiserver.verbs.validation import PARTIAL
from setpoint.apiserver.verbs.watch import watch

Handler = Callable[[Call], Response]
_OBJECT: Final[dict[str, tuple[str, Handler]]] = {
    "GET": ("get", get),
    "HEAD": ("get", get),
    "PUT": ("update", update),
    "PATCH": ("patch", patch),
    "DELETE": ("delete", delete),
}
_SCALE: Final[dict[str, Handler]] = {
    "GET": get_scale,
    "HEAD": get_scale,
    "PUT": update_scale,
    "PATCH": patch_scale,
}
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PARTIAL: Final[dict[str, Handler]] = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch}


def route(call: Call) -> Response | Awaitable[Response]:
    """The response of the handler for the path and the method; for work on a whole collection, which lets other
    requests run meanwhile, an awaitable of it. As upstream, HEAD is only for custom resources. Raises ApiStatusError.
    """
    path = call.path
    method = call.request.method
    if (method == "HEAD" and not call.served.custom) or (method != "GET" and path.watch):
        raise _method_not_allowed(call)
    if not path.name:
        return _collection(call)
    if path.watch:
        return _watch(call)
    if path.subresource:
        return _subresource(call)
    return _object(call)


def _collection(call: Call) -> Response | Awaitable[Response]:
    resource, method = call.served.resource, call.request.method
    if method in ("GET", "HEAD"):
        if method == "GET" and (call.path.watch or call.query.flag("watch")):
            return _watch(call)
        _require(call, "list")
        if not call.served.computed:
            return list_objects(call)
        return (list_usage if resource.group else list_component_statuses)(call, ListOptions.parse(call.query))
    if method == "POST":
        _require(call, "create")
        maker = ACTIONS.get((call.served.name, ""))
        if maker is not None:
            return maker(call)
        if resource.namespaced and not call.path.namespace:
            raise _method_not_allowed(call)
        return create(call)
    if method == "DELETE" and (call.path.namespace or not resource.namespaced):
        _require(call, "deletecollection")
        return delete_collection(call)
    raise _method_not_allowed(call)


def _object(call: Call) -> Response:
    verb_and_handler = _OBJECT.get(call.request.method)
    if verb_and_handler is None:
        raise _method_not_allowed(call)
    verb, handler = verb_and_handler
    _require(call, verb)
    if not call.served.computed:
        return handler(call)
    return (get_usage if call.served.resource.group else get_component_status)(call)


def _watch(call: Call) -> Response:
    _require(call, "watch")
    return watch(call, ListOptions.parse(call.query, watch=True))


def _subresource(call: Call) -> Response:
    name, method = call.path.subresource, call.request.method
    connection = CONNECTIONS.get((call.served.name, name))
    if connection is not None:
        if method not in ("GET", "POST"):
            raise _method_not_allowed(call)
        return connection(call)
    if name not in call.served.resource.subresources:
        raise not_found(call.served.group_resource, call.path.name) if call.served.custom else no_such_path()
    handler: Handler | None
    if name == "scale":
        handler = _SCALE.get(method)
    elif name == "log":
        handler = log if method == "GET" else None
    elif name in PARTIAL:
        handler = _PARTIAL.get(method)
    elif method == ("PUT" if name == "finalize" else "POST"):
        handler = ACTIONS.get((call.served.name, name))
    else:
        handler = None
    if handler is None:
        raise _method_not_allowed(call)
    return handler(call)


def _require(call: Call, verb: str) -> None:
    if verb not in call.served.resource.verbs:
        raise _method_not_allowed(call, verb)


def _method_not_allowed(call: Call, verb: str = "") -> ApiStatusError:
    if call.served.computed or (call.served.custom and call.path.subresource):  # no router of upstream knows them
        return method_not_supported(call.served.group_resource, verb or _VERBS.get(call.request.method, "get"))
    return ApiStatusError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}
    )
