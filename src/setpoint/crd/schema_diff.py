"""The changes between two schemas of one version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from setpoint.crd.definition_change import Change, Severity
from setpoint.schema import json_equal

JSON = Any
JSONSchema = Mapping[str, Any]
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_RULES = "x-kubernetes-validations"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_KEYS = "x-kubernetes-list-map-keys"
_IMPLIED = ("apiVersion", "kind", "metadata")
_NAMES = ("name", "generateName")
"""The fields of an object's own metadata that a schema may restrict."""
_EITHER = [{"type": "integer"}, {"type": "string"}]
"""An ``anyOf`` that adds nothing to an int-or-string."""
# keyword, what it is called, whether a greater value is tighter
_BOUNDS = (
    ("minimum", "minimum", True),
    ("maximum", "maximum", False),
    ("minLength", "least length", True),
    ("maxLength", "greatest length", False),
    ("minItems", "least number of items", True),
    ("maxItems", "greatest number of items", False),
    ("minProperties", "least number of entries", True),
    ("maxProperties", "greatest number of entries", False),
)
_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_DOCUMENTATION = ("description", "title", "example", "externalDocs", "$schema", "id")
_COMPARED = frozenset(
    {
        *(keyword for keyword, _, _ in _BOUNDS),
        *_EXCLUSIVE.values(),
        *_DOCUMENTATION,
        *("type", "pattern", "format", "multipleOf", "enum", "nullable", "default", "required"),
        *("properties", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "not"),
        *("x-kubernetes-list-type", "x-kubernetes-map-type", _KEYS, _PRESERVE, _EMBEDDED, _INT_OR_STRING, _RULES),
    }
)
"""The keywords that have methods of their own, and those that have no effect."""
_WIDER = {("integer", "number"), ("integer", "int-or-string"), ("string", "int-or-string")}


def schema_changes(old: JSONSchema, new: JSONSchema, definition: str, version: str) -> Iterator[Change]:
    """Every change from ``old`` to ``new``, two states of one version's ``openAPIV3Schema``; the outer fields come
    first.
    """
    yield from _Comparison(definition, version).compare(old, new, "")


class _Comparison:
    def __init__(self, definition: str, version: str) -> None:
        self._definition = definition
        self._version = version

    def _change(
        self, field: str, code: str, text: str, stored: Severity = "", writers: Severity = "", readers: Severity = ""
    ) -> Change:
        return Change(
            definition=self._definition,
            version=self._version,
            field=field,
            code=code,
            text=text,
            stored=stored,
            writers=writers,
            readers=readers,
        )

    def _tighter(self, field: str, code: str, text: str) -> Change:
        text += "; objects that violate it can no longer be written"
        return self._change(field, code, text, stored="breaks", writers="breaks")

    def _looser(self, field: str, code: str, text: str) -> Change:
        return self._change(field, code, f"{text}; readers may get unexpected values", readers="may")

    def compare(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        before, after = _type(old), _type(new)
        if before != after:
            yield self._retyped(before, after, path)
            if (before, after) not in _WIDER:
                return
        yield from self._bounds(old, new, path)
        yield from self._texts(old, new, path)
        yield from self._values(old, new, path)
        yield from self._merging(old, new, path)
        yield from self._rules(old, new, path)
        yield from self._alternatives(old, new, path)
        yield from self._others(old, new, path)
        yield from self._fields(old, new, path)
        for keyword, suffix in (("items", "[]"), ("additionalProperties", ".*")):
            inner = old.get(keyword), new.get(keyword)
            if isinstance(inner[0], Mapping) and isinstance(inner[1], Mapping):
                yield from self.compare(inner[0], inner[1], path + suffix)
            elif not json_equal(*inner):
                yield self._other(keyword, *inner, path)

    def _alternatives(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        """Changes of oneOf, anyOf, allOf and not. The values that an alternative allows are not computed: one that
        differs counts as one that is gone and another that is new.
        """
        before, after = old.get("not"), new.get("not")
        if not json_equal(before, after):
            if after is None:
                yield self._looser(path, "not-removed", f"values of {_show(before)} are allowed now")
            else:
                yield self._tighter(
                    path, "not-changed" if before else "not-added", f"values of {_show(after)} are refused now"
                )
        for keyword in ("allOf", "anyOf", "oneOf"):
            parts, others = _parts(old, keyword), _parts(new, keyword)
            removed = [part for part in parts if not any(json_equal(part, other) for other in others)]
            come = [other for other in others if not any(json_equal(part, other) for part in parts)]
            if not removed and not come:
                continue
            code = _code(keyword)
            if keyword == "allOf":
                if come:
                    yield self._tighter(path, f"{code}-added", f"must also be {_list(come)}")
                if removed:
                    yield self._looser(path, f"{code}-removed", f"no longer has to be {_list(removed)}")
            elif not others:
                yield self._looser(path, f"{code}-removed", f"no longer has to be {keyword} {_list(parts)}")
            elif removed or not parts or keyword == "oneOf":
                word = "changed" if parts else "added"
                yield self._tighter(path, f"{code}-{word}", f"must be {keyword} {_list(others)} now")
            else:
                yield self._looser(path, f"{code}-changed", f"may also be {_list(come)}")

    def _others(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        """Changes of keywords that are neither compared elsewhere nor documentation."""
        if bool(old.get(_EMBEDDED)) != bool(new.get(_EMBEDDED)):
            if new.get(_EMBEDDED):
                text = "is an object with apiVersion, kind and metadata of its own now"
                yield self._tighter(path, "embedded-resource-added", text)
            else:
                text = (
                    "is no longer an object of its own: its metadata is not checked, and is lost unless it is declared"
                )
                yield self._change(path, "embedded-resource-removed", text, "breaks", "breaks", "breaks")
        for keyword in sorted({*old, *new} - _COMPARED):
            if not json_equal(old.get(keyword), new.get(keyword)):
                yield self._other(keyword, old.get(keyword), new.get(keyword), path)

    def _other(self, keyword: str, before: JSON, after: JSON, path: str) -> Change:
        text = f"{keyword} was {_show(before)} and is {_show(after)}"
        return self._change(path, f"{_code(keyword)}-changed", text, "may", "may", "may")

    def _retyped(self, before: str, after: str, path: str) -> Change:
        text = f"was {before} and is {after}"
        if (before, after) in _WIDER:
            return self._looser(path, "type-widened", text)
        text += ": stored, written and read values don't match; add a new version with a conversion"
        return self._change(path, "type-changed", text, "breaks", "breaks", "breaks")

    def _bounds(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        for keyword, name, upward in _BOUNDS:
            before, after = old.get(keyword), new.get(keyword)
            flag = _EXCLUSIVE.get(keyword, "")
            strict = bool(old.get(flag)), bool(new.get(flag))
            if (before, strict[0] and before is not None) == (after, strict[1] and after is not None):
                continue
            exclusive = f"{'above' if upward else 'below'} " if strict[1] else ""
            if after is None:
                yield self._looser(path, f"{_code(keyword)}-removed", f"the {name} {before} is removed")
            elif before is None:
                yield self._tighter(path, f"{_code(keyword)}-added", f"has a {name} now: {exclusive}{after}")
            else:
                tighter = (after > before) == upward if after != before else strict[1]
                word = "raised" if after > before or (after == before and strict[1] == upward) else "lowered"
                text = f"the {name} changed from {before} to {exclusive}{after}"
                yield (self._tighter if tighter else self._looser)(path, f"{_code(keyword)}-{word}", text)

    def _texts(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        for keyword in ("pattern", "format", "multipleOf"):
            before, after = old.get(keyword), new.get(keyword)
            if before == after:
                continue
            if after is None:
                yield self._looser(path, f"{_code(keyword)}-removed", f"{keyword} {before!r} is removed")
            elif before is None:
                yield self._tighter(path, f"{_code(keyword)}-added", f"has a {keyword} now: {after!r}")
            else:
                text = f"{keyword} was {before!r} and is {after!r}"
                yield self._tighter(path, f"{_code(keyword)}-changed", text)

    def _values(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        before, after = old.get("enum"), new.get("enum")
        if before is None and after is not None:
            yield self._tighter(path, "enum-added", f"only {_list(after)} are allowed now")
        elif after is None and before is not None:
            yield self._looser(path, "enum-removed", f"any value is allowed now, not only {_list(before)}")
        elif before is not None and after is not None:
            if removed := [value for value in before if value not in after]:
                yield self._tighter(path, "enum-value-removed", f"{_list(removed)} is no longer allowed")
            if come := [value for value in after if value not in before]:
                yield self._looser(path, "enum-value-added", f"{_list(come)} is allowed now")
        if bool(old.get("nullable")) != bool(new.get("nullable")):
            if new.get("nullable"):
                yield self._looser(path, "nullable-added", "may be null now")
            else:
                yield self._change(path, "nullable-removed", "null counts as absent now", "may", "may", "may")
        yield from self._default(old, new, path)

    def _default(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        before, after = old.get("default"), new.get("default")
        if json_equal(before, after):
            return
        if before is None:
            text = f"has the default {_show(after)} now, which objects that lack it get when they are read"
            yield self._change(path, "default-added", text, "may", "may", "may")
        elif after is None:
            text = f"no longer has a default (it was {_show(before)}); new objects may lack it"
            yield self._change(path, "default-removed", text, "", "may", "may")
        else:
            text = (
                f"the default changed from {_show(before)} to {_show(after)}: writers that omit it get the new one, and"
            )
            text += " do stored objects that don't have it"
            yield self._change(path, "default-changed", text, "may", "may", "may")

    def _merging(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        for keyword, usual in (("x-kubernetes-list-type", "atomic"), ("x-kubernetes-map-type", "granular")):
            before, after = old.get(keyword) or usual, new.get(keyword) or usual
            if before == after:
                continue
            text = f"merged as {before} and merges as {after}; appliers may gain or lose items"
            unique = after in ("set", "map")
            text += ", and duplicates are refused" if unique else ""
            yield self._change(path, f"{keyword[13:]}-changed", text, "may" if unique else "", "may")
        keys = old.get(_KEYS), new.get(_KEYS)
        if keys[0] and keys[1] and keys[0] != keys[1]:
            text = f"the keys of its items were {_list(keys[0])} and are {_list(keys[1])}"
            yield self._change(path, "list-map-keys-changed", text, "may", "may")
        if old.get(_PRESERVE) and not new.get(_PRESERVE):
            text = "unknown fields are no longer kept: stored objects lose them with their next write"
            yield self._change(path, "preserve-unknown-removed", text, "breaks", "breaks", "breaks")
        elif new.get(_PRESERVE) and not old.get(_PRESERVE):
            yield self._change(path, "preserve-unknown-added", "unknown fields are kept now")

    def _rules(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        before = {rule.get("rule"): rule for rule in old.get(_RULES) or ()}
        after = {rule.get("rule"): rule for rule in new.get(_RULES) or ()}
        for text in sorted(after.keys() - before.keys()):
            if "oldSelf" in text:
                yield self._change(path, "rule-added", f"updates must keep a new rule: {text}", writers="breaks")
            else:
                yield self._tighter(path, "rule-added", f"has a new rule: {text}")
        for text in sorted(before.keys() - after.keys()):
            yield self._looser(path, "rule-removed", f"a rule is removed: {text}")
        for text in sorted(before.keys() & after.keys()):
            if before[text] == after[text]:
                continue
            if before[text].get("optionalOldSelf") != after[text].get("optionalOldSelf"):
                word = "also" if after[text].get("optionalOldSelf") else "no longer"
                yield self._change(
                    path, "rule-changed", f"a rule {word} applies if there is no old value: {text}", "may", "may"
                )
            else:
                yield self._change(path, "rule-changed", f"a rule has a different message, reason or field: {text}")

    def _fields(self, old: JSONSchema, new: JSONSchema, path: str) -> Iterator[Change]:
        before: Mapping[str, JSONSchema] = old.get("properties") or {}
        after: Mapping[str, JSONSchema] = new.get("properties") or {}
        needed, needs = set(old.get("required") or ()), set(new.get("required") or ())
        for name in sorted((needs ^ needed) - {*before, *after} - {*(() if path else _IMPLIED)}):
            here = f"{path}.{name}" if path else name
            if name in needs:
                yield self._tighter(here, "required-added", "is required now")
            else:
                yield self._change(here, "required-removed", "is optional now; readers may not find it", readers="may")
        if not path:
            inner = [(fields.get("metadata") or {}).get("properties") or {} for fields in (before, after)]
            for name in _NAMES:
                was, now = ({"type": "string", **(fields.get(name) or {})} for fields in inner)
                yield from self.compare(was, now, f"metadata.{name}")
        for name in (*before, *(name for name in after if name not in before)):
            if not path and name in _IMPLIED:
                continue
            here = f"{path}.{name}" if path else name
            if name not in after:
                yield self._removed(here, new)
                continue
            sure = "default" in after[name]
            if name not in before:
                yield self._added(here, required=name in needs and not sure, free=bool(old.get(_PRESERVE)))
                continue
            if name in needs and name not in needed and not sure:
                yield self._tighter(here, "required-added", "is required now")
            elif name in needed and name not in needs and "default" not in after[name]:
                text = "is optional now; readers may not find it"
                yield self._change(here, "required-removed", text, readers="may")
            yield from self.compare(before[name], after[name], here)

    def _removed(self, here: str, parent: JSONSchema) -> Change:
        if parent.get(_PRESERVE) or isinstance(parent.get("additionalProperties"), Mapping):
            return self._change(here, "field-undeclared", "is no longer declared, but kept", "", "may", "may")
        text = "is removed: writers are refused or ignored, and stored objects lose it with their next write"
        return self._change(here, "field-removed", text, "breaks", "breaks", "breaks")

    def _added(self, here: str, *, required: bool, free: bool) -> Change:
        if required:
            return self._tighter(here, "required-field-added", "is new, and required")
        if free:
            text = "is declared now; unknown values kept there must fit it"
            return self._change(here, "field-declared", text, "may", "may")
        return self._change(here, "field-added", "is new")


def _type(schema: JSONSchema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    kind = schema.get("type") or "anything"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return "map"
    return str(kind)


def _parts(schema: JSONSchema, keyword: str) -> list[JSON]:
    parts = list(schema.get(keyword) or ())
    return [] if keyword == "anyOf" and schema.get(_INT_OR_STRING) and parts == _EITHER else parts


def _code(keyword: str) -> str:
    keyword = keyword.removeprefix("x-kubernetes-").removeprefix("$")
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in keyword)


def _show(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _list(values: Any) -> str:
    return ", ".join(map(_show, values))
