"""``/finalize``: the end of a namespace's deletion."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.http_types import Response
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import read_object
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.verbs.update import check_name, modify
from setpoint.schema import copy_json

JsonObject = dict[str, Any]


def finalize_namespace(call: Call) -> Response:
    """PUT namespaces/NAME/finalize: sets ``spec.finalizers``; removing the last one completes the deletion of a
    namespace.
    """
    shape = Representation.negotiate(call)
    options = WriteOptions.parse(call.query, "UpdateOptions")
    new = read_object(call, call.served, options.field_validation)
    check_name(call, new)
    record = call.existing()
    live = call.versions.decoded(call.served, record)
    changed: JsonObject = {**copy_json(live), "metadata": new["metadata"]}
    finalizers = (new.get("spec") or {}).get("finalizers") or []
    changed["spec"] = {"finalizers": finalizers} if finalizers else {}
    value = modify(call, call.served, record, live, changed, options, subresource="finalize")
    return shape.single(call, value)
