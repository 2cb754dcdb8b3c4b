"""``metadata`` of every object: the fields that the server sets, and its validation (apimachinery's
``api/validation``).
"""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import Any, Final

import msgspec

from setpoint.apiserver.resources.write_context import NameRule
from setpoint.meta import GroupVersion
from setpoint.meta.names import dns1123_label, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import Shown, forbidden, invalid, required, too_long

FINALIZER_FOREGROUND: Final = "foregroundDeletion"
FINALIZER_ORPHAN: Final = "orphan"
_STANDARD_FINALIZERS: Final = frozenset({FINALIZER_FOREGROUND, FINALIZER_ORPHAN, "kubernetes"})
MAX_ANNOTATIONS: Final = 256 * 1024
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, no look-alikes
_SUFFIX: Final = 5
_MAX_BASE: Final = 63 - _SUFFIX

_qualified = lru_cache(maxsize=4096)(lambda value: tuple(qualified_name(value)))
_label_value = lru_cache(maxsize=4096)(lambda value: tuple(label_value(value)))
_label = lru_cache(maxsize=1024)(lambda value: tuple(dns1123_label(value)))


def generate_name(base: str, random: Random) -> str:
    """``base``, truncated if it is too long, followed by five random characters."""
    return base[:_MAX_BASE] + "".join(random.choices(_ALPHABET, k=_SUFFIX))


def new_uid(random: Random) -> str:
    """A UUID of version 4."""
    bits = random.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | (4 << 76) | (2 << 62)
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def clean(metadata: dict[str, Any]) -> None:
    """Drops the values that Go would not write: nulls, and empty strings, lists and maps. An empty list of
    managedFields stays, because it resets the field managers.
    """
    for key in [
        key for key, value in metadata.items() if value in (None, "", {}) or (value == [] and key != "managedFields")
    ]:
        del metadata[key]


def metadata_errors(
    metadata: dict[str, Any],
    namespaced: bool,
    name_rule: NameRule,
    prefix_rule: NameRule,
    *,
    custom: bool = False,
) -> list[FieldError]:
    """The errors in the metadata of a new or changed object. The finalizers of a ``custom`` object need not have a
    domain.
    """
    errors: list[FieldError] = []
    generate = metadata.get("generateName")
    if generate:
        # what is generated starts with it, so a dash may be its end
        errors += [invalid("metadata.generateName", generate, text) for text in prefix_rule(_masked(generate))]
    name = metadata.get("name")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid("metadata.name", name, text) for text in name_rule(name)]
    namespace = metadata.get("namespace")
    if namespaced:
        if not namespace:
            errors.append(required("metadata.namespace"))
        else:
            errors += [invalid("metadata.namespace", namespace, text) for text in _label(namespace)]
    elif namespace:
        errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    generation = metadata.get("generation") or 0
    if generation < 0:
        errors.append(invalid("metadata.generation", generation, "must be greater than or equal to 0"))
    for key, value in (metadata.get("labels") or {}).items():
        errors += [invalid("metadata.labels", key, text) for text in _qualified(key)]
        errors += [invalid("metadata.labels", value, text) for text in _label_value(value)]
    annotations = metadata.get("annotations")
    if annotations:
        for key in annotations:
            errors += [invalid("metadata.annotations", key, text) for text in _qualified(key.lower())]
        if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS:
            errors.append(too_long("metadata.annotations", MAX_ANNOTATIONS))
    if metadata.get("ownerReferences"):
        errors += _owner_errors(metadata["ownerReferences"])
    if metadata.get("finalizers"):
        errors += _finalizer_errors(metadata["finalizers"], custom)
    return errors


def _masked(generate: str) -> str:
    return f"{generate[:-1]}a" if len(generate) > 1 and generate.endswith("-") else generate


def _owner_errors(owners: list[dict[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    controllers: list[str] = []
    path = "metadata.ownerReferences"
    for index, owner in enumerate(owners):
        version, field_path = owner.get("apiVersion") or "", f"{path}[{index}]"
        if version and (version.count("/") > 1 or not GroupVersion.parse(version).version):
            errors.append(invalid(f"{field_path}.apiVersion", version, "must be <group>/<version> or <version>"))
        errors += [
            required(f"{field_path}.{key}", "must not be empty")
            for key in ("apiVersion", "kind", "name", "uid")
            if not owner.get(key)
        ]
        if (version, owner.get("kind")) == ("v1", "Event"):
            errors.append(
                invalid(field_path, Shown(_go_owner(owner)), "/v1, Kind=Event is disallowed from being an owner")
            )
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind', '')}/{owner.get('name', '')}")
    if len(controllers) > 1:
        text = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{controllers[0]} and {controllers[1]}"
        )
        errors.append(invalid(path, Shown(f"[{','.join(map(_go_owner, owners))}]"), text))
    return errors


def _go_owner(owner: dict[str, Any]) -> str:
    """An owner reference as Go writes it: its fields in the struct's order."""
    fields = {name: owner.get(name) or "" for name in ("apiVersion", "kind", "name", "uid")}
    flags = {name: owner[name] for name in ("controller", "blockOwnerDeletion") if owner.get(name) is not None}
    return msgspec.json.encode({**fields, **flags}).decode()


def _finalizer_errors(finalizers: list[str], custom: bool) -> list[FieldError]:
    path = "metadata.finalizers"
    errors: list[FieldError] = []
    for index, finalizer in enumerate(finalizers):
        problems = _qualified(finalizer)
        errors += [invalid(path, finalizer, text) for text in problems]
        if not custom and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid(f"{path}[{index}]", finalizer, text))
    if {FINALIZER_FOREGROUND, FINALIZER_ORPHAN} <= set(finalizers):
        text = f"finalizer {FINALIZER_ORPHAN} and {FINALIZER_FOREGROUND} cannot be both set"
        errors.append(invalid(path, finalizers, text))
    return errors


def update_errors(new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """The errors for changes to immutable metadata, and for finalizers that are added to an object that is being
    deleted.
    """
    errors = [
        invalid(f"metadata.{name}", new.get(name, ""), "field is immutable")
        for name in ("name", "namespace", "uid", "creationTimestamp")
        if new.get(name, "") != old.get(name, "")
    ]
    if new.get("deletionTimestamp") != old.get("deletionTimestamp"):
        errors.append(invalid("metadata.deletionTimestamp", new.get("deletionTimestamp"), "field is immutable"))
    if new.get("deletionGracePeriodSeconds") != old.get("deletionGracePeriodSeconds"):
        value = new.get("deletionGracePeriodSeconds")
        errors.append(invalid("metadata.deletionGracePeriodSeconds", value, "field is immutable"))
    if old.get("deletionTimestamp"):
        finalizers: list[str] = old.get("finalizers") or []
        added = sorted({str(name) for name in new.get("finalizers") or ()}.difference(finalizers))
        if added:
            text = (
                f"no new finalizers can be added if the object is being deleted, found new finalizers {_go_list(added)}"
            )
            errors.append(forbidden("metadata.finalizers", text))
    return errors


def _go_list(names: list[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"[]string{{{quoted}}}"
