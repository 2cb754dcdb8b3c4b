"""Validation of values against schemas, with the same errors as API servers report for custom resources."""

from __future__ import annotations

import json
import math
from typing import Final

from setpoint.meta.json_values import JSON, MAX_INT64, MIN_INT64, format_json_number, json_equal, json_type, token
from setpoint.meta.text_escaping import quote
from setpoint.regexp import PatternError, compile_pattern

from .errors import (
    LONGEST_PATH,
    Errors,
    ErrorType,
    FieldError,
    format_number,
    invalid,
    not_supported,
    required,
    shortened,
    too_long,
    too_many,
    type_invalid,
)
from .formats import is_checked, matches_format
from .list_types import list_type_errors
from .schema_node import GO_INT_OR_STRING, UNSET, Schema

_INT32: Final = (-(2**31), 2**31 - 1)
_RANGES: Final = {"int32": _INT32, GO_INT_OR_STRING: _INT32}
_INT64: Final = (MIN_INT64, MAX_INT64)
_NUMERIC_FORMATS: Final = {"integer": (*_RANGES, "int64"), "number": ("float", "double")}
_MAX_FLOAT32: Final = 3.4028235677973366e38
_MAX_JSON_INTEGER: Final = float(2**53 - 1)


def validate(schema: Schema, value: JSON, path: str = "", *, old: JSON = UNSET) -> list[FieldError]:
    """All errors in ``value``; an empty list if it is valid.

    ``path`` is the prefix of the errors' field paths (for example the path of a default that is being checked). ``old``
    is the value before an update: an unchanged part does not make the update fail (CRD validation ratcheting,
    KEP-4008). Fields of the old and the new value are matched by name, and items of map-lists by key.

    CEL rules (``validations``) and the names in embedded resources' metadata are not checked here.
    """
    checker = _Checker(path)
    checker.check(schema, value, "", old)
    duplicates = list_type_errors(schema, value, path)
    if duplicates and old is not UNSET and list_type_errors(schema, old, path):
        duplicates = []
    return checker.errors + duplicates


class _Checker:
    __slots__ = ("errors", "prefix")

    def __init__(self, prefix: str) -> None:
        self.errors = Errors()
        self.prefix = prefix

    def at(self, path: str) -> str:
        path = path.removeprefix(".")
        return f"{self.prefix}.{path}" if self.prefix and path else self.prefix + path

    def fail(self, path: str, value: JSON, text: str) -> None:
        self.errors.append(invalid(self.at(path), value, f"{path} in body {text}"))

    def plain(self, text: str) -> None:
        """Adds an error that servers don't attribute to a field."""
        self.errors.append(invalid(self.prefix, "", text))

    def check(self, schema: Schema, value: JSON, path: str, old: JSON) -> int:
        """Appends the errors; returns the number of checks made, which shows how far an alternative of anyOf or oneOf
        matched.
        """
        if old is not UNSET and (json_equal(old, value) or _same(schema, value, old)):
            return 1
        count = 1
        if type(value) is int and not MIN_INT64 <= value <= MAX_INT64:
            value = float(value)  # as Go reads it
        if value is None:
            self._null(schema, path)
            self._enum(schema, value, path)
            return count
        type_ok = self._type(schema, value, path)
        if schema.any_of or schema.one_of or schema.all_of or schema.not_ is not None:
            count += self._combined(schema, value, path, old)
        if isinstance(value, str):
            self._text(schema, value, path)
        elif isinstance(value, bool):
            pass
        elif isinstance(value, (int, float)):
            self._number(schema, value, path)
        elif isinstance(value, list):
            count += self._list(schema, value, path, old)
        self._enum(schema, value, path)
        if isinstance(value, dict):
            count += self._object(schema, value, path, old)
        return count + type_ok

    def _null(self, schema: Schema, path: str) -> None:
        wanted = "integer,string" if schema.int_or_string else schema.type
        if wanted and not schema.nullable:
            self.errors.append(type_invalid(self.at(path), "null", f'{path} in body must be of type {wanted}: "null"'))

    def _type(self, schema: Schema, value: JSON, path: str) -> bool:
        actual = json_type(value)
        wanted: str = schema.type
        if schema.int_or_string:
            wanted = "integer,string"
            fits = actual in ("integer", "string")
        else:
            fits = wanted in ("", actual) or (wanted == "number" and actual == "integer")
        format_ = _format_of(schema)
        if not wanted and format_ and actual not in ("string", "array"):
            fits = False
        if not fits and actual == "number" and wanted.startswith("integer") and _is_whole(float(value)):
            fits = (
                schema.type == "integer" or schema.format != GO_INT_OR_STRING
            )  # Go's IntOrString takes no fraction, not even 3.0
        if not fits:
            if format_ and actual not in ("string", "array"):
                wanted, actual = format_, {"integer": "int64", "number": "float64"}.get(actual, "")
            detail = f"{path} in body must be of type {wanted}: {quote(actual)}"
            self.errors.append(type_invalid(self.at(path), actual, detail))
        return fits

    def _enum(self, schema: Schema, value: JSON, path: str) -> None:
        if schema.enum is not None and not any(_is_item(value, item) for item in schema.enum):
            names = [item if isinstance(item, str) else _json_of(item) for item in schema.enum]
            self.errors.append(not_supported(self.at(path), value, names))

    def _text(self, schema: Schema, value: str, path: str) -> None:
        if schema.max_length is not None and len(value) > schema.max_length:  # servers name the first of these three
            self.errors.append(too_long(self.at(path), schema.max_length))
        elif schema.min_length is not None and len(value) < schema.min_length:
            self.fail(path, value, f"should be at least {schema.min_length} chars long")
        elif schema.pattern:
            self._pattern(schema.pattern, value, path)
        if schema.format and schema.type in ("", "string") and not matches_format(schema.format, value):
            detail = f"{path} in body must be of type {schema.format}: {quote(value)}"
            self.errors.append(type_invalid(self.at(path), value, detail))

    def _pattern(self, pattern: str, value: str, path: str) -> None:
        try:
            if compile_pattern(pattern).matches(value):
                return
            problem = f"should match '{pattern}'"
        except PatternError as error:  # the pattern of a definition that was stored while it still counted as valid
            problem = f"can't be matched: {error}"
        self.fail(path, value, problem)

    def _number(self, schema: Schema, value: float, path: str) -> None:
        """Checks a number as Go's library does: bounds and factors have to be of the field's type, too, and lose their
        fraction if the value is an integer.
        """
        self._range(schema, value, "Checked", path)
        if schema.multiple_of is not None:
            fits = self._range(schema, schema.multiple_of, "MultipleOf", path)
            data, factor = _alike(value, schema.multiple_of, fits)
            if factor <= 0:
                text = f"factor MultipleOf declared for {path} must be positive: {format_number(factor)}"
                self.errors.append(invalid(self.at(path), factor, text))
            elif not _is_multiple(data, factor):
                self.fail(path, data, f"should be a multiple of {format_number(factor)}")
        if schema.minimum is not None:
            fits = self._range(schema, schema.minimum, "Minimum boundary", path)
            data, bound = _alike(value, schema.minimum, fits)
            if data <= bound if schema.exclusive_minimum else data < bound:
                relation = "greater than" if schema.exclusive_minimum else "greater than or equal to"
                self.fail(path, data, f"should be {relation} {format_number(bound)}")
        if schema.maximum is not None:
            fits = self._range(schema, schema.maximum, "Maximum boundary", path)
            data, bound = _alike(value, schema.maximum, fits)
            if data >= bound if schema.exclusive_maximum else data > bound:
                relation = "less than" if schema.exclusive_maximum else "less than or equal to"
                self.fail(path, data, f"should be {relation} {format_number(bound)}")

    def _range(self, schema: Schema, number: float, subject: str, path: str) -> bool:
        """Whether ``number`` fits into the type of ``schema``; if not, adds an error."""
        if (schema.type == "integer" and not schema.int_or_string) or schema.format == GO_INT_OR_STRING:
            low, high = _RANGES.get(schema.format, _INT64)
            fits = low <= number <= high and float(number).is_integer()
        else:
            fits = schema.format != "float" or schema.type != "number" or abs(number) <= _MAX_FLOAT32
        if not fits:
            format_ = _format_of(schema)
            format_text = f"with format {format_}" if format_ else "(default format)"
            self.plain(f"{subject} value must be of type {schema.type or 'integer'} {format_text} in {path}")
        return fits

    def _list(self, schema: Schema, value: list[JSON], path: str, old: JSON) -> int:
        count = 0
        if schema.items is not None:
            before = _old_items(schema, value, old)
            for index, item in enumerate(value):
                count += self.check(schema.items, item, f"{path}[{index}]", before[index] if before else UNSET)
        if schema.min_items is not None and len(value) < schema.min_items:
            self.fail(path, len(value), f"should have at least {schema.min_items} items")
        if schema.max_items is not None and len(value) > schema.max_items:
            self.errors.append(too_many(self.at(path), len(value), schema.max_items))
        if schema.unique_items and len({token(item) for item in value}) < len(value):
            self.errors.append(
                FieldError(ErrorType.INVALID, self.at(path), f"{path} in body shouldn't contain duplicates", "")
            )
        return count

    def _object(self, schema: Schema, value: dict[str, JSON], path: str, old: JSON) -> int:
        count = 0
        size = len(value)
        if schema.min_properties is not None and size < schema.min_properties:
            self.fail(path, size, f"should have at least {schema.min_properties} properties")
        if schema.max_properties is not None and size > schema.max_properties:
            self.errors.append(too_many(self.at(path), size, schema.max_properties))
        properties, additional = schema.properties, schema.additional
        before = old if isinstance(old, dict) else None
        for key, item in value.items():
            child = properties.get(key, additional)
            if child is not None:
                inner = f"{path}.{key}" if path or key not in properties else key
                if len(inner) > LONGEST_PATH:
                    inner = shortened(inner)
                count += self.check(child, item, inner, before.get(key, UNSET) if before is not None else UNSET)
        for key in schema.required:
            if key not in value:
                self.errors.append(required(self.at(f"{path}.{key}")))
        if schema.embedded_resource:
            self._embedded(value, path)
        return count

    def _embedded(self, value: dict[str, JSON], path: str) -> None:
        for key in ("apiVersion", "kind"):
            if key not in value:
                self.errors.append(required(self.at(f"{path}.{key}")))
            elif value[key] == "":
                self.errors.append(invalid(self.at(f"{path}.{key}"), "", "must not be empty"))

    def _combined(self, schema: Schema, value: JSON, path: str, old: JSON) -> int:
        count = 0
        if schema.any_of:
            matched, count, failures = self._alternatives(schema.any_of, value, path, old, True)
            if not matched:
                self.plain(f'"{path}" must validate at least one schema (anyOf)')
                self.errors.extend(failures)
        if schema.one_of:
            matched, more, failures = self._alternatives(schema.one_of, value, path, old, False)
            count += more
            if matched != 1:
                alternatives = f"Found {matched} valid alternatives" if matched else "Found none valid"
                self.plain(f'"{path}" must validate one and only one schema (oneOf). {alternatives}')
                self.errors.extend(failures if not matched else ())
        if schema.all_of:
            failed = 0
            for part in schema.all_of:
                inner = _Checker(self.prefix)
                count += inner.check(part, value, path, old)
                failed += bool(inner.errors)
                self.errors.extend(inner.errors)
            if failed:
                none = ". None validated" if failed == len(schema.all_of) else ""
                self.plain(f'"{path}" must validate all the schemas (allOf){none}')
        if schema.not_ is not None:
            inner = _Checker(self.prefix)
            inner.check(schema.not_, value, path, old)
            if not inner.errors:
                self.plain(f'"{path}" must not validate the schema (not)')
        return count

    def _alternatives(
        self, schemas: tuple[Schema, ...], value: JSON, path: str, old: JSON, first: bool
    ) -> tuple[int, int, list[FieldError]]:
        """The number of matching alternatives (at most one if ``first``), the number of checks in the best alternative,
        and the errors of the alternative that came closest to a match.
        """
        matched, best = 0, -1
        failures: list[FieldError] = []
        for schema in schemas:
            inner = _Checker(self.prefix)
            count = inner.check(schema, value, path, old)
            if not inner.errors:
                matched, best = matched + 1, max(best, count)
                if first:
                    break
            elif not matched and count > best:
                best, failures = count, inner.errors
        return matched, best, failures


def _same(schema: Schema, value: JSON, old: JSON) -> bool:
    """Whether the value is the old one, except for the order of items in lists that are maps."""
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and all(
            json_equal(item, old[key])
            or ((child := schema.properties.get(key, schema.additional)) is not None and _same(child, item, old[key]))
            for key, item in value.items()
        )
    if isinstance(value, list) and isinstance(old, list) and len(value) == len(old) and schema.items is not None:
        before = _old_items(schema, value, old)
        items = zip(value, old if before is None else before, strict=True)
        return all(
            other is not UNSET and (json_equal(item, other) or _same(schema.items, item, other))
            for item, other in items
        )
    return False


def _format_of(schema: Schema) -> str:
    """The format of a schema; empty if servers ignore it for the schema's type."""
    if schema.type in ("", "string"):
        return schema.format if is_checked(schema.format) else ""
    return schema.format if schema.format in _NUMERIC_FORMATS.get(schema.type, ()) else ""


def _alike(value: float, bound: float, fits: bool) -> tuple[float, float]:
    """The value and the bound as Go compares them: both as integers if the value is one."""
    return (value, int(bound)) if fits and isinstance(value, int) else (float(value), float(bound))


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int):
        return value % int(factor) == 0
    return _is_whole(1 / factor * value if factor < 1 else value / factor)


def _is_whole(number: float) -> bool:
    """Whether ``number`` is an integer for Go's library: one of at most 53 bits, up to an error of 1e-9 of it."""
    if abs(number) > _MAX_JSON_INTEGER:
        return False
    rounded = float(round(number))
    return number == rounded or abs(number - rounded) < 1e-9 * abs(rounded)


def _is_item(value: JSON, item: JSON) -> bool:
    """Whether ``value`` is the ``item`` of an enumeration, which Go compares after conversion to the item's type."""
    if isinstance(value, float) and isinstance(item, int) and not isinstance(item, bool):
        return math.isfinite(value) and int(value) == item
    return json_equal(value, item)


def _json_of(value: JSON) -> str:
    return format_json_number(value) if isinstance(value, float) else json.dumps(value, separators=(",", ":"))


def _old_items(schema: Schema, value: list[JSON], old: JSON) -> list[JSON] | None:
    """For each item of a map-list, the old item with the same keys, or UNSET. None for any other list, or if there is
    no old list.
    """
    if not isinstance(old, list) or schema.list_type != "map":
        return None

    def key(item: JSON) -> str:
        return json.dumps([item.get(name) for name in schema.list_map_keys]) if isinstance(item, dict) else ""

    by_key = {key(item): item for item in old}
    return [by_key.get(key(item), UNSET) for item in value]
