"""ResourceQuota: refuses objects that would exceed a quota, and adds accepted objects to the quota's usage immediately.

The quota controller subtracts deleted objects, as in upstream.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.objects.codec import encode
from setpoint.apiserver.objects.pod_resources import Amounts
from setpoint.apiserver.plugins.quota_usage import EVALUATED, concerned, matches, unspecified, usage
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta import Quantity

JsonObject = dict[str, Any]

_QUOTAS: Final = "resourcequotas"


def check_quotas(attributes: AdmissionAttributes) -> None:
    """Counts a new object, or the increase caused by a change, against the quotas of the object's namespace.

    Raises ApiStatusError (403): a quota would be exceeded, the quota's usage is not known yet, or the object does not
    specify an amount that the quota counts.
    """
    if not attributes.namespace or not _counts(attributes):
        return
    quotas = list(attributes.stored(_QUOTAS, attributes.namespace))
    if not quotas:
        return
    collection, obj = attributes.served.name, attributes.new
    interesting: list[tuple[JsonObject, dict[str, str]]] = []
    for quota in quotas:
        hard: dict[str, str] = (quota.get("status") or {}).get("hard") or {}
        required = concerned(collection, hard)
        if not required or not matches(quota, collection, obj):
            continue
        name = quota["metadata"]["name"]
        if collection == "pods" and (reason := unspecified(obj, required)):
            raise attributes.forbidden(f"failed quota: {name}: {reason}")
        used = (quota.get("status") or {}).get("used") or {}
        if unknown := sorted(resource for resource in required if resource not in used):
            raise attributes.forbidden(f"status unknown for quota: {name}, resources: {','.join(unknown)}")
        interesting.append((quota, hard))
    if not interesting:
        return
    whole, added = usage(collection, obj, attributes.call.now()), _added(attributes)
    for quota, hard in interesting:
        entered = attributes.old is not None and not matches(quota, collection, attributes.old)
        amounts = whole if entered else added
        requested = {name: amount for name, amount in amounts.items() if name in hard and amount.value}
        _check(attributes, quota, hard, requested)
        if requested and not attributes.dry_run:
            _store(attributes, quota, requested)


def _counts(attributes: AdmissionAttributes) -> bool:
    """Whether the request can increase the usage of a quota."""
    collection, old = attributes.served.name, attributes.old
    if old is None:
        return not attributes.subresource
    if collection == "pods":
        if attributes.subresource:
            return attributes.subresource == "resize"
        deadline = "activeDeadlineSeconds"
        return (attributes.spec.get(deadline) is None) != ((old.get("spec") or {}).get(deadline) is None)
    if collection == "persistentvolumeclaims" and attributes.subresource == "status":
        return True
    return collection in EVALUATED and not attributes.subresource


def _added(attributes: AdmissionAttributes) -> Amounts:
    """The amounts by which the request increases the usage of quotas. For an update, these are only the amounts that
    grow.
    """
    collection, now = attributes.served.name, attributes.call.now()
    new_usage = usage(collection, attributes.new, now)
    if attributes.old is None:
        return new_usage
    before = usage(collection, attributes.old, now)
    added = {name: amount - before.get(name, Quantity(0)) for name, amount in new_usage.items()}
    return {name: amount for name, amount in added.items() if amount.value > 0}


def _check(attributes: AdmissionAttributes, quota: JsonObject, hard: dict[str, str], requested: Amounts) -> None:
    used = quota["status"]["used"]
    exceeded = [
        name
        for name, amount in sorted(requested.items())
        if Quantity(used.get(name, "0")) + amount > Quantity(hard[name])
    ]
    if exceeded:
        parts = [
            ",".join(f"{name}={amounts.get(name, '0')}" for name in exceeded) for amounts in (requested, used, hard)
        ]
        raise attributes.forbidden(
            f"exceeded quota: {quota['metadata']['name']}, requested: {parts[0]}, used: {parts[1]}, limited: {parts[2]}"
        )


def _store(attributes: AdmissionAttributes, quota: JsonObject, requested: Amounts) -> None:
    call = attributes.call
    served = call.state.registry.find("", "v1", _QUOTAS)
    assert served is not None
    name = quota["metadata"]["name"]
    record = call.storage.get(_QUOTAS, attributes.namespace, name)
    assert record is not None
    used = {**quota["status"]["used"]}
    for resource, amount in requested.items():
        used[resource] = str(Quantity(used.get(resource, "0")) + amount)
    document = {**quota, "status": {**quota["status"], "used": used}}
    call.storage.put(
        _QUOTAS,
        attributes.namespace,
        name,
        lambda revision: encode(served, document, revision),
        expected=record.revision,
    )
