"""GET of ``componentstatuses``: the health of what the server depends on, which is its storage."""

from __future__ import annotations

import msgspec

from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import ListOptions
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.verbs.selection import Matcher

_STORAGE = "etcd-0"


def get_component_status(call: Call) -> Response:
    """The status of one component. Raises ApiStatusError: 404 for any but the storage, or 406."""
    shape = Representation.negotiate(call)
    name = call.path.name
    if name != _STORAGE:
        details = {"name": name, "kind": "componentstatus"}  # the singular, as upstream
        raise ApiStatusError(404, "NotFound", f'componentstatus "{name}" not found', details)
    return shape.document(call, shape.item(call, _storage(call)))


def list_component_statuses(call: Call, options: ListOptions) -> Response:
    """The statuses of matching components. Raises ApiStatusError: 400 for a field that selectors lack, or 406."""
    shape = Representation.negotiate(call)
    matcher = Matcher.of(call, options)
    items = [_storage(call)]
    if not matcher.everything:
        items = [item for item in items if matcher.matches(item, call.versions)]
    return shape.document(call, shape.items(call, items, {}))


def _storage(call: Call) -> bytes:
    good = call.state.running
    condition = {"type": "Healthy", "status": "True" if good else "False", "message": "ok" if good else "stopped"}
    head = {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": _STORAGE}}
    return msgspec.json.encode({**head, "conditions": [condition]})
