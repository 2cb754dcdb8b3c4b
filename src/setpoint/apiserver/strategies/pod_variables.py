"""Validation of a container's variables: their names and the sources of their values."""

from __future__ import annotations

import re
from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.pod_fields import (
    field_errors,
    no_backsteps,
    resource_errors,
)
from setpoint.meta.names import config_key, dns1123_label, dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, required

Errors = list[FieldError]
_VARIABLE: Final = re.compile("[ -<>-~]*")
_VARIABLE_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def _variable_errors(name: str, path: str) -> Errors:
    return [] if _VARIABLE.fullmatch(name) else [invalid(path, name, _VARIABLE_RULE)]


def variables_errors(variables: list[JsonObject], path: str) -> Errors:
    """The errors in ``env``, which lists variables one by one."""
    errors: Errors = []
    for index, variable in enumerate(variables):
        field_path, name, source = f"{path}[{index}]", variable.get("name", ""), variable.get("valueFrom")
        errors += _variable_errors(name, f"{field_path}.name") if name else [required(f"{field_path}.name")]
        if source is not None:
            errors += _value_from(source, bool(variable.get("value")), f"{field_path}.valueFrom")
    return errors


def _value_from(source: JsonObject, has_value: bool, path: str) -> Errors:
    sources = [key for key in _SOURCES if source.get(key) is not None]
    errors: Errors = []
    for key in sources:
        field_path, part = f"{path}.{key}", source[key]
        if key == "fieldRef":
            errors += field_errors(part, field_path)
        elif key == "resourceFieldRef":
            errors += resource_errors(part, field_path)
        elif key == "fileKeyRef":
            errors += _file_key(part, field_path)
        else:
            name = part.get("name", "")
            errors += [invalid(f"{field_path}.name", name, text) for text in dns1123_subdomain(name)]
            errors += _key(part.get("key", ""), f"{field_path}.key")
    if not sources:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(path, "", text))
    elif has_value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(sources) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _key(key: str, path: str) -> Errors:
    return [invalid(path, key, text) for text in config_key(key)] if key else [required(path)]


def _file_key(part: JsonObject, path: str) -> Errors:
    key, volume, target = part.get("key", ""), part.get("volumeName", ""), part.get("path", "")
    errors = _variable_errors(key, f"{path}.key") if key else [required(f"{path}.key")]
    if volume:
        errors += [invalid(f"{path}.volumeName", volume, text) for text in dns1123_label(volume)]
    else:
        errors.append(required(f"{path}.volumeName"))
    return errors + (no_backsteps(target, f"{path}.path") if target else [required(f"{path}.path")])


def variables_from_errors(sources: list[JsonObject], path: str) -> Errors:
    """The errors in ``envFrom``, which takes variables from whole config maps or secrets."""
    errors: Errors = []
    for index, source in enumerate(sources):
        field_path = f"{path}[{index}]"
        if source.get("prefix"):
            errors += _variable_errors(source["prefix"], f"{field_path}.prefix")
        fields = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in fields:
            name = source[key].get("name", "")
            if not name:
                errors.append(required(f"{field_path}.{key}.name"))
            else:  # as in upstream, a prefix of a name is valid too
                problems = dns1123_subdomain(name[:-1] + "a" if name.endswith("-") else name)
                errors += [invalid(f"{field_path}.{key}.name", name, text) for text in problems]
        if not fields:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(fields) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors
