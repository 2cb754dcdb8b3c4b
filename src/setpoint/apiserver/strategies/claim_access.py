"""The permissions that a write of a claim's status needs in addition to the one for the status itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.attributes import forbidden as refusal
from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.claim_status import changed_drivers
from setpoint.apiserver.strategies.devices import ADMIN_RULE, allows_admins
from setpoint.schema import FieldError, json_equal
from setpoint.schema.errors import forbidden

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

Errors = list[FieldError]
_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "authentication.kubernetes.io/node-name"


def admin_status_errors(obj: JsonObject, old: JsonObject, namespace: Callable[[], JsonObject]) -> Errors:
    """An error if the write is the first to allocate devices with administrator access, and the namespace lacks the
    required label; otherwise empty. ``namespace`` returns the claim's Namespace object.
    """
    first_admin = next((index for index, result in enumerate(_results(obj)) if result.get("adminAccess")), None)
    if first_admin is None or any(result.get("adminAccess") for result in _results(old)) or allows_admins(namespace()):
        return []
    return [forbidden(f"status.allocation.devices.results[{first_admin}].adminAccess", ADMIN_RULE)]


def _results(claim: JsonObject) -> Sequence[JsonObject]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results: Sequence[JsonObject] = (allocation.get("devices") or {}).get("results") or ()
    return results


def access_errors(call: WriteContext, obj: JsonObject, old: JsonObject) -> Errors:
    """An error for each missing permission: ``resourceclaims/binding``, in all namespaces, to change allocations and
    reservations; ``resourceclaims/driver`` to change the reports on a driver's devices, unless the claim has no
    allocation. Empty if the server has no authorizer.
    """
    if call.authorizer is None:
        return []
    status, before = obj.get("status") or {}, old.get("status") or {}
    attributes = Attributes(call.user, call.verb, "resource.k8s.io", "v1", "resourceclaims", "binding")
    errors: Errors = []
    if not all(json_equal(status.get(name), before.get(name)) for name in ("allocation", "reservedFor")):
        problem = _problem(call, [attributes])
        if problem:
            words = f'changing status.allocation or status.reservedFor requires resource="{attributes.combined}"'
            errors.append(forbidden("status.allocation", f'{words}, verb="{call.verb}" permission: {problem}'))
    if status.get("allocation") is None:
        return errors
    verbs = [f"arbitrary-node:{call.verb}"]
    if _is_on_its_node(call, status["allocation"]):
        verbs.insert(0, f"associated-node:{call.verb}")
    for driver in changed_drivers(status, before):
        attributes = replace(
            attributes, subresource="driver", namespace=obj["metadata"].get("namespace", ""), name=driver
        )
        problem = _problem(call, [replace(attributes, verb=verb) for verb in verbs])
        if problem:
            words = f'changing status.devices requires resource="{attributes.combined}", verb="[{" ".join(verbs)}]"'
            errors.append(forbidden("status.devices", f"{words} permission: {problem}"))
    return errors


def _problem(call: WriteContext, ways: Sequence[Attributes]) -> str:
    """The error message, which names the first of the alternative permissions ``ways``; empty if the user has any of
    them.
    """
    assert call.authorizer is not None
    decisions = [call.authorizer.authorize(attributes) for attributes in ways]
    if any(decision.allowed for decision in decisions):
        return ""
    message: str = refusal(ways[0], decisions[0].reason).status["message"]
    return message


def _is_on_its_node(call: WriteContext, allocation: JsonObject) -> bool:
    """Whether the user is a service account whose token is bound to the one node for which devices are allocated."""
    terms: Sequence[JsonObject] = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
    term: JsonObject = terms[0] if len(terms) == 1 and not terms[0].get("matchExpressions") else {}
    fields: Sequence[JsonObject] = term.get("matchFields") or []
    if len(fields) != 1 or (fields[0].get("key"), fields[0].get("operator")) != ("metadata.name", "In"):
        return False
    names = tuple(fields[0].get("values") or ())
    return len(names) == 1 and call.user.name.startswith(_ACCOUNT) and call.user.extra.get(_NODE) == names
