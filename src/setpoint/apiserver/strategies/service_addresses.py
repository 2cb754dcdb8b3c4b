"""Gives addresses and node ports to services, and checks what precedes that, as upstream does. A server with
networks of both IP families is dual-stack.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.errors import bad_request
from setpoint.apiserver.errors import invalid as refused
from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.addresses import address_problem
from setpoint.apiserver.strategies.service_allocator import Allocator
from setpoint.apiserver.strategies.service_ip_addresses import claim
from setpoint.meta import GroupKind
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, invalid, not_supported, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_POLICY: Final = "spec.ipFamilyPolicy"


# -- types of services ------------------------------------------------------------------------------------------------


def has_address(spec: JsonObject) -> bool:
    """Whether a service with this spec has a cluster address; the ``"None"`` of a headless service counts as one.
    Services of all types other than ``ExternalName`` have one, even those of unknown types.
    """
    return spec.get("type") != "ExternalName"


def headless(spec: JsonObject) -> bool:
    return bool(spec.get("clusterIPs")) and spec["clusterIPs"][0] == "None"


def with_node_ports(spec: JsonObject) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def needs_health_check(spec: JsonObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


# -- giving -----------------------------------------------------------------------------------------------------------


def allocate(call: WriteContext, obj: JsonObject, before: JsonObject | None) -> None:
    """Gives the service the addresses and ports that it needs but lacks; ``before`` is the old spec, or None for a new
    service.

    Raises ApiStatusError, before the rest of the service is validated: 422 for an address or a node port that is not
    available and for invalid IP families, 400 for a health check port that is not available, 500 if there is no free
    address or port.
    """
    spec = obj["spec"]
    if before is not None:
        _keep(spec, before)
    _synchronize(spec, before)
    name = obj["metadata"].get("name", "")
    allocator = Allocator(call, before)
    errors = _family_problems(spec, before, allocator.families)
    if errors:
        raise refused(GroupKind("", "Service"), name, errors)
    if spec.get("type") == "ExternalName" and not (before and with_node_ports(before)):
        return
    if spec.get("type") != "ExternalName" and not headless(spec):
        for address in _give_addresses(spec, before, allocator, name):
            claim(call, obj, address)
    if with_node_ports(spec):
        _give_node_ports(spec, before, allocator, name)
    if needs_health_check(spec) and not (before and needs_health_check(before)):
        _give_health_port(spec, allocator)


def _keep(spec: JsonObject, before: JsonObject) -> None:
    """Keeps allocated addresses and ports that the request leaves out."""
    if has_address(before) and has_address(spec):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    if with_node_ports(before) and with_node_ports(spec):
        old, new = before.get("ports") or [], spec.get("ports") or []
        used = {port.get("nodePort") for port in old} & {port.get("nodePort") for port in new}
        old_ports = {port.get("name", ""): port.get("nodePort", 0) for port in old}
        for port in new:
            number = old_ports.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if needs_health_check(before) and needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def _synchronize(spec: JsonObject, before: JsonObject | None) -> None:
    """Makes ``clusterIP`` and ``clusterIPs`` consistent; a client may set either."""
    address, several = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    if before is None:
        if address and not several:
            spec["clusterIPs"] = [address]
        return
    old, olds = before.get("clusterIP", ""), before.get("clusterIPs") or []
    if olds and not several and old == address:
        spec["clusterIPs"] = several = list(olds)
    if old != address and several == olds:
        if old and not address:
            spec.pop("clusterIPs", None)
        else:
            spec["clusterIPs"] = [address]


def _give_addresses(spec: JsonObject, before: JsonObject | None, allocator: Allocator, name: str) -> list[str]:
    """Gives the service an address of each of its families, except for those that it has already; returns the new
    ones. A service that has an address gets another only if it has become dual-stack.
    """
    wanted, families = [*(spec.get("clusterIPs") or ())], spec.get("ipFamilies") or []
    first = 0
    if before is not None and has_address(before) and wanted:
        was_headless, families_before = headless(before), before.get("ipFamilies") or []
        if was_headless or len(families_before) != 1 or len(families) != 2:
            return []
        first = 1
    chosen = wanted[: len(families)]
    for index, family in list(enumerate(families))[first:]:
        if index >= len(wanted):
            chosen.append(allocator.address(family, name))
        elif problem := allocator.refusal(wanted[index], family):
            reason = f"failed to allocate IP {wanted[index]}: {problem}"
            raise refused(GroupKind("", "Service"), name, [invalid("spec.clusterIPs", wanted, reason)])
    spec["clusterIP"], spec["clusterIPs"] = chosen[0], chosen
    return chosen[first:]


def _give_node_ports(spec: JsonObject, before: JsonObject | None, allocator: Allocator, name: str) -> None:
    gives = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True)
    own = {port.get("nodePort", 0) for port in (before or {}).get("ports") or ()}
    by_port: dict[int, int] = {}
    ports = spec.get("ports") or []
    by_number = {port.get("port", 0): port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
    for index, port in enumerate(ports):
        number, wanted = port.get("port", 0), port.get("nodePort", 0)
        if not wanted and not gives:
            continue
        wanted = wanted or by_port.get(number) or by_number.get(number, 0)
        if not wanted:
            wanted = allocator.port("nodePort")
        elif wanted not in own and wanted != by_port.get(number):
            problem = allocator.reserve(wanted)
            if problem:
                field_path = f"spec.ports[{index}].nodePort"
                raise refused(GroupKind("", "Service"), name, [invalid(field_path, wanted, problem)])
        by_port.setdefault(number, wanted)
        port["nodePort"] = wanted


def _give_health_port(spec: JsonObject, allocator: Allocator) -> None:
    wanted = spec.get("healthCheckNodePort", 0)
    if not wanted:
        spec["healthCheckNodePort"] = allocator.port("HealthCheck NodePort 0")
    elif problem := allocator.reserve(wanted):
        raise bad_request(f"failed to allocate requested HealthCheck NodePort {wanted}: {problem}")


# -- families ---------------------------------------------------------------------------------------------------------


def _family_problems(spec: JsonObject, before: JsonObject | None, configured: Sequence[str]) -> list[FieldError]:
    """Sets the IP families and their policy; returns the errors if they are invalid. ``configured`` are the families
    of the server, the default first.
    """
    if spec.get("type") == "ExternalName" or _still_prefers_two(spec, before):
        return []
    apart = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        old_policy = (before or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = old_policy or ("RequireDualStack" if apart else "SingleStack")
    errors = family_errors(spec)
    if errors:
        return errors
    policy = spec["ipFamilyPolicy"]
    if before is not None:
        errors += _fewer(spec, before)
    if policy == "SingleStack":
        for name, label in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
            if len(spec.get(name) or ()) == 2:
                text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {label} are specified"
                errors.append(invalid(_POLICY, policy, text))
    families = [*(spec.get("ipFamilies") or ())]
    addresses = [*(spec.get("clusterIPs") or ())]
    for index, address in enumerate(addresses if not headless(spec) else ()):
        family = _family_of(address)
        if index >= len(families):
            if family not in configured:
                errors.append(
                    invalid(f"spec.clusterIPs[{index}]", addresses, f"{family} is not configured on this cluster")
                )
            else:
                families.append(family)
    if errors:
        return errors
    if not apart:
        if policy == "RequireDualStack" and len(configured) < 2:
            errors.append(invalid(_POLICY, policy, "this cluster is not configured for dual-stack services"))
        for index, family in enumerate(families):
            if family not in configured:
                errors.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    families = families or [configured[0]]
    # The endpoints of a headless service without a selector may be of a family that the server does not have.
    if policy != "SingleStack" and len(families) == 1 and (apart or len(configured) == 2):
        families.append(_FAMILIES[families[0] == "IPv4"])
    spec["ipFamilies"] = families
    return errors


def _still_prefers_two(spec: JsonObject, before: JsonObject | None) -> bool:
    """Whether a service that prefers two families keeps its allocated families, even if the cluster now has
    different ones.
    """
    if before is None or spec.get("ipFamilyPolicy") != "PreferDualStack":
        return False
    if before.get("ipFamilyPolicy", "PreferDualStack") != "PreferDualStack" or before.get("type") != spec.get("type"):
        return False
    return all((spec.get(name) or []) == (before.get(name) or []) for name in ("clusterIPs", "ipFamilies"))


def _fewer(spec: JsonObject, before: JsonObject) -> Iterator[FieldError]:
    """Releases the second address and family if the policy changed to a single family; yields an error for each address
    or family that the request releases without this change of policy.
    """
    single = spec["ipFamilyPolicy"] == "SingleStack"
    for name, label in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        old, new = before.get(name) or [], spec.get(name) or []
        if single and new == old and len(new) > 1:
            spec[name] = new[:1]
        elif not single and 0 < len(new) < len(old) and old[: len(new)] == new:
            text = f"must be 'SingleStack' to release the secondary {label}"
            yield invalid(_POLICY, spec["ipFamilyPolicy"], text)


def family_errors(spec: JsonObject, stored: Collection[str] = ()) -> list[FieldError]:
    """The errors in a service's addresses, IP families and IP family policy, including contradictions between them.
    ``stored``: the addresses that the service already has, whose form is not checked.
    """
    if spec.get("type") == "ExternalName":
        return []
    errors: list[FieldError] = []
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families: list[Any] = spec.get("ipFamilies") or []
    field_path = "spec.clusterIPs"
    if address and not addresses:
        errors.append(required(field_path))
    elif address and addresses[0] != address:
        errors.append(invalid(field_path, addresses, "first value must match `clusterIP`"))
    elif addresses and not address:
        errors.append(invalid(field_path, addresses, "must be empty when `clusterIP` is not specified"))
    again = set(repeats(families))
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES))
        if index in again:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported(_POLICY, policy, _POLICIES))
    wrong = False
    for index, text in enumerate(addresses):
        if index == 0 and text == "None":
            if len(addresses) > 1:
                wrong = True
                errors.append(invalid(field_path, addresses, "'None' must be the first and only value"))
        elif text not in stored and address_problem(text):
            wrong = True
            errors.append(invalid(f"{field_path}[{index}]", text, address_problem(text)))
    if len(addresses) > 2:
        errors.append(invalid(field_path, addresses, "may only hold up to 2 values"))
    if wrong:
        return errors
    if len(addresses) > 1 and len({_family_of(text) for text in addresses}) < 2:
        errors.append(invalid(field_path, addresses, "may specify no more than one IP for each IP family"))
    if not headless(spec):
        for index, (text, family) in enumerate(zip(addresses, families, strict=False)):
            if family in _FAMILIES and family != _family_of(text):
                reason = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
                errors.append(invalid(f"{field_path}[{index}]", text, reason))
    return errors


def _family_of(address: str) -> str:
    return _FAMILIES[":" in address]
