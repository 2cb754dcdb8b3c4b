"""Rules for names and taints, shared by device claims, classes and slices."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.pod_volumes import caseless, driver_name_errors
from setpoint.meta.names import dns1123_subdomain, label_value, qualified_name
from setpoint.schema import ErrorType, FieldError, repeats
from setpoint.schema.errors import duplicate, invalid, not_supported, required, too_long

Errors = list[FieldError]
EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_IDENTIFIER: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_RULE: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)


def name_errors(value: str, rule: Callable[[str], list[str]], path: str) -> Errors:
    return [invalid(path, value, text) for text in rule(value)]


def repeated_errors(names: Sequence[str], path: str) -> Errors:
    return [duplicate(f"{path}[{index}]", names[index]) for index in repeats(names)]


def qualified_errors(name: str, path: str) -> Errors:
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier(name, path)
    if len(parts) > 2:
        return []
    domain, rest = parts
    errors = driver_name_errors(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return errors + (_identifier(rest, path) if rest else [invalid(path, "", "the name must not be empty")])


def fully_qualified_errors(name: str, path: str) -> Errors:
    errors = qualified_errors(name, path)
    if name.count("/") == 1 and not name.startswith("/"):
        driver_errors = driver_name_errors(name.partition("/")[0], path)
        errors = [
            replace(error, detail=f"prefix: {error.detail}") if error in driver_errors else error for error in errors
        ]
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, name, text))
    return errors


def _identifier(name: str, path: str) -> Errors:
    errors = [too_long(path, 32)] if len(name) > 32 else []
    return errors if _IDENTIFIER.fullmatch(name) else [*errors, invalid(path, name, _IDENTIFIER_RULE)]


def taint_errors(taint: JsonObject, path: str, old: JsonObject | None = None) -> Errors:
    key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
    errors = name_errors(key, qualified_name, f"{path}.key") + name_errors(value, label_value, f"{path}.value")
    if old is not None and old.get("effect", "") == effect:
        return errors
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return errors


def declared_driver_errors(name: str, path: str) -> Errors:
    """The errors in a driver's name, for fields that upstream validates declaratively. Their messages use the wording
    of declarative validation, including the unit of lengths (bytes or characters).
    """
    errors = driver_name_errors(name, path)
    return [replace(error, detail=_units(caseless(error.detail), error.type)) for error in errors]


def _units(text: str, kind: ErrorType) -> str:
    if kind is ErrorType.TOO_LONG:
        return text.replace("bytes", "characters")
    return text.replace("characters", "bytes") if "more than" in text else text


def pool_errors(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    errors = [too_long(path, 253)] if len(name) > 253 else []
    return errors + [error for part in name.split("/") for error in name_errors(part, dns1123_subdomain, path)]
