"""What pods and everything that makes pods have in common: defaults and rules of a pod's spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from setpoint.apiserver.strategies.pod_rules import container_errors, placing_errors, volume_errors
from setpoint.apiserver.strategies.rules.pod_spec import POD_SPEC
from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_label
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, invalid, not_found, not_supported, required

__all__ = ["default_pod_spec", "default_template", "pod_spec_errors", "template_errors"]

_MODE: Final = 420  # 0644
_RESTART: Final = ("Always", "OnFailure", "Never")
_PULL: Final = ("Always", "IfNotPresent", "Never")
_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NOTHING: Final = Quantity("0")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")


def default_template(template: Any) -> None:
    """A PodTemplateSpec."""
    if not isinstance(template, dict):
        return
    template.setdefault("metadata", {})
    if isinstance(template.get("spec"), dict):
        default_pod_spec(template["spec"])


def default_pod_spec(spec: JsonObject, *, pod: bool = False) -> None:
    """``pod``: of a pod itself rather than of a template, which gets a few more."""
    spec.setdefault("restartPolicy", "Always")
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    if pod:
        spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        _default_container(container, pod=pod)
    for volume in spec.get("volumes") or ():
        if isinstance(volume, dict):
            _default_volume(volume)


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(key) or ():
            if isinstance(container, dict):
                yield container


def _default_container(container: JsonObject, *, pod: bool) -> None:
    image = container.get("image") or ""
    if image and not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if _tag(image) == "latest" else "IfNotPresent"
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    for key in ("limits", "requests"):
        amounts = resources.get(key)
        for name, amount in (amounts or {}).items():
            amounts[name] = _canonical(amount)
    if pod and isinstance(resources, dict):
        limits = resources.get("limits")
        if limits:
            requests = resources.setdefault("requests", {})
            for name, value in limits.items():
                requests.setdefault(name, value)
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if source.get("fieldRef"):
            source["fieldRef"].setdefault("apiVersion", "v1")
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(container.get(key), dict):
            _default_probe(container[key])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_action(hook)


def _canonical(amount: Any) -> Any:
    """``0.5`` as ``500m``: every quantity is stored in one form. What is none is left for validation."""
    try:
        return str(Quantity(amount))
    except ValueError:
        return amount


def _default_probe(probe: JsonObject) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    _default_action(probe)
    if probe.get("grpc"):
        probe["grpc"].setdefault("service", "")


def _default_action(action: JsonObject) -> None:
    http = action.get("httpGet")
    if http:
        http.setdefault("path", "/")
        http.setdefault("scheme", "HTTP")


def _default_volume(volume: JsonObject) -> None:
    if not any(key != "name" and value is not None for key, value in volume.items()):
        volume["emptyDir"] = {}
    for key in ("secret", "configMap", "projected", "downwardAPI"):
        if isinstance(volume.get(key), dict):
            volume[key].setdefault("defaultMode", _MODE)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    sources = (volume.get("projected") or {}).get("sources") or ()
    for part in (volume.get("downwardAPI"), *(source.get("downwardAPI") for source in sources)):
        for item in (part or {}).get("items") or ():
            if item.get("fieldRef"):
                item["fieldRef"].setdefault("apiVersion", "v1")
    for source in sources:
        if source.get("serviceAccountToken"):
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)


def _tag(image: str) -> str:
    """``latest`` for an image without tag and digest."""
    if "@" in image:
        return ""
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return tag if colon else "latest"


def template_errors(
    template: Any, path: str, *, restart: tuple[str, ...] = ("Always",), mounts: bool = True
) -> list[FieldError]:
    """``mounts``: whether each mount must be of a volume of the template."""
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return []
    errors = pod_spec_errors(template["spec"], f"{path}.spec", mounts=mounts)
    policy = template["spec"].get("restartPolicy")
    if policy in _RESTART and policy not in restart:
        errors.append(not_supported(f"{path}.spec.restartPolicy", policy, restart))
    return errors


def pod_spec_errors(spec: JsonObject, path: str, *, mounts: bool = True) -> list[FieldError]:
    """``mounts``: whether each mount must be of a volume of the spec."""
    errors: list[FieldError] = []
    volumes: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        name = volume.get("name", "")
        where = f"{path}.volumes[{index}].name"
        if name:
            errors += [invalid(where, name, text) for text in dns1123_label(name)]
        if name in volumes:
            errors.append(duplicate(where, name))
        volumes.add(name)
        errors += volume_errors(volume, f"{path}.volumes[{index}]")
    if not spec.get("containers"):
        errors.append(required(f"{path}.containers"))
    names: set[str] = set()
    for key in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(key) or ()):
            errors += _container_errors(container, f"{path}.{key}[{index}]", names, volumes if mounts else None)
    for key, allowed in (("restartPolicy", _RESTART), ("dnsPolicy", _DNS)):
        if spec.get(key) and spec[key] not in allowed:
            errors.append(not_supported(f"{path}.{key}", spec[key], allowed))
    errors += placing_errors(spec, path)
    errors += POD_SPEC.errors(spec, None, spec, path)
    deadline = spec.get("activeDeadlineSeconds")
    if isinstance(deadline, int) and not 1 <= deadline <= 2**31 - 1:
        text = "must be between 1 and 2147483647, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, text))
    return errors


def _container_errors(container: JsonObject, path: str, names: set[str], volumes: set[str] | None) -> list[FieldError]:
    errors: list[FieldError] = []
    name, image = container.get("name", ""), container.get("image", "")
    if name:
        errors += [invalid(f"{path}.name", name, text) for text in dns1123_label(name)]
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    if not image:
        errors.append(required(f"{path}.image"))
    elif image != image.strip():
        errors.append(invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
    policy = container.get("imagePullPolicy")
    if policy and policy not in _PULL:
        errors.append(not_supported(f"{path}.imagePullPolicy", policy, _PULL))
    for index, port in enumerate(container.get("ports") or ()):
        where = f"{path}.ports[{index}]"
        number = port.get("containerPort")
        if number == 0:
            errors.append(required(f"{where}.containerPort"))
        elif isinstance(number, int) and not 1 <= number <= 65535:
            errors.append(invalid(f"{where}.containerPort", number, "must be between 1 and 65535, inclusive"))
        if port.get("protocol") not in ("TCP", "UDP", "SCTP"):
            errors.append(not_supported(f"{where}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP")))
    errors += container_errors(container, path)
    errors += _resource_errors(container.get("resources") or {}, f"{path}.resources")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") and volumes is not None and mount["name"] not in volumes:
            errors.append(not_found(f"{path}.volumeMounts[{index}].name", mount["name"]))
    return errors


def _resource_errors(resources: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    amounts: dict[tuple[str, str], Quantity] = {}
    for key in ("limits", "requests"):
        for name, text in (resources.get(key) or {}).items():
            where = f"{path}.{key}[{name}]"
            try:
                amount = amounts[key, name] = Quantity(text)
            except ValueError:
                errors.append(invalid(where, text, _QUANTITY))
                continue
            if amount < _NOTHING:
                errors.append(invalid(where, text, "must be greater than or equal to 0"))
            limit = amounts.get(("limits", name))
            if key == "requests" and limit is not None and limit < amount:
                errors.append(invalid(f"{path}.{key}", text, f"must be less than or equal to {name} limit of {limit}"))
    return errors
