"""The changes between two states of CustomResourceDefinitions, and their consequences.

```python
for change in compare(old, new):
    print(change.severity, change.place, change.text)
```

The functions take plain JSON documents and do not change them. CEL rules are compared as strings: a new rule counts as
a tightening.

The criteria are those of https://kubernetes.io/docs/reference/using-api/deprecation-policy/ and of the conventions at
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api_changes.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from setpoint.crd.definition_change import Change, Severity
from setpoint.crd.schema_diff import schema_changes

Document = Mapping[str, Any]


def compare_all(old: Iterable[Document], new: Iterable[Document]) -> list[Change]:
    """The changes to all definitions (removed, new and changed ones), sorted by the definitions' names."""
    before = {_name(document): document for document in old}
    after = {_name(document): document for document in new}
    changes: list[Change] = []
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            text = "the definition is removed, and with it all of its objects"
            changes.append(
                Change(
                    definition=name,
                    code="definition-removed",
                    text=text,
                    stored="breaks",
                    writers="breaks",
                    readers="breaks",
                )
            )
        elif name not in before:
            changes.append(Change(definition=name, code="definition-added", text="the definition is new"))
        else:
            changes += compare(before[name], after[name])
    return changes


def compare(old: Document, new: Document) -> list[Change]:
    """The changes between two states of one CustomResourceDefinition: first those of the whole definition, then by
    version.

    If ``old`` comes from a cluster, its ``status.storedVersions`` is used; otherwise its storage version counts as
    stored.

    Raises:
        ValueError: one of them is not a CustomResourceDefinition of ``apiextensions.k8s.io/v1``.
    """
    name = _name(new)
    _name(old)
    changes = [*_names(name, old["spec"], new["spec"]), *_versions(name, old, new)]
    before, after = _by_name(old), _by_name(new)
    for version in after:
        if version in before:
            changes += _version(name, version, before[version], after[version])
            changes += schema_changes(_schema(before[version]), _schema(after[version]), name, version)
    return changes


def _name(document: Document) -> str:
    if document.get("kind") != "CustomResourceDefinition" or document.get("apiVersion") != "apiextensions.k8s.io/v1":
        actual = f"{document.get('apiVersion')} {document.get('kind')}"
        raise ValueError(f"expected a CustomResourceDefinition of apiextensions.k8s.io/v1, not {actual}")
    return str((document.get("metadata") or {}).get("name"))


def _by_name(document: Document) -> dict[str, Document]:
    return {version["name"]: version for version in document["spec"].get("versions") or ()}


def _schema(version: Document) -> Document:
    schema: Document = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _names(name: str, old: Document, new: Document) -> Iterator[Change]:
    for part in ("group", "scope"):
        if old.get(part) != new.get(part):
            text = f"{part} was {old.get(part)!r} and is {new.get(part)!r}, which API servers refuse"
            yield _all(name, "", f"{part}-changed", text)
    before, after = old.get("names") or {}, new.get("names") or {}
    for part in ("kind", "plural", "singular", "listKind"):
        if before.get(part, after.get(part)) != after.get(part):
            text = f"{part} was {before.get(part)!r} and is {after.get(part)!r}"
            yield _all(name, "", f"{part}-changed", text)
    for part, word in (("shortNames", "short name"), ("categories", "category")):
        for word_removed in sorted({*(before.get(part) or ())} - {*(after.get(part) or ())}):
            text = f"the {word} {word_removed!r} is removed, which breaks commands that use it"
            yield Change(definition=name, code=f"{word.replace(' ', '-')}-removed", text=text, readers="may")
        for come in sorted({*(after.get(part) or ())} - {*(before.get(part) or ())}):
            yield Change(definition=name, code=f"{word.replace(' ', '-')}-added", text=f"has the {word} {come!r} now")
    if bool(old.get("preserveUnknownFields")) != bool(new.get("preserveUnknownFields")):
        text = f"preserveUnknownFields is {bool(new.get('preserveUnknownFields'))} now"
        yield _all(name, "", "preserve-unknown-changed", text)


def _versions(name: str, old: Document, new: Document) -> Iterator[Change]:
    before, after = _by_name(old), _by_name(new)
    stored = (old.get("status") or {}).get("storedVersions")
    sure = stored is not None
    stored = stored or [name for name, version in before.items() if version.get("storage")]
    for version in before:
        if version in after:
            continue
        if version in stored:
            reason = "still in status.storedVersions" if sure else "the version that was stored"
            text = f"is removed, and it is {reason}: API servers refuse that; run `setpoint crd migrate` first"
            yield _all(name, version, "stored-version-removed", text)
        elif before[version].get("served"):
            text = "is removed, and was served"
            yield Change(
                definition=name, version=version, code="version-removed", text=text, writers="breaks", readers="breaks"
            )
        else:
            yield Change(
                definition=name, version=version, code="version-removed", text="is removed, and was not served"
            )
    for version, content in after.items():
        if version not in before:
            text = "is new, and it is the storage version" if content.get("storage") else "is new"
            yield Change(definition=name, version=version, code="version-added", text=text)
        elif content.get("storage") and not before[version].get("storage"):
            text = (
                "is the storage version now; objects are rewritten with their next write, or by `setpoint crd migrate`"
            )
            yield Change(definition=name, version=version, code="storage-version-changed", text=text)
    strategies = [(spec.get("conversion") or {}).get("strategy") or "None" for spec in (old["spec"], new["spec"])]
    if strategies == ["Webhook", "None"] and len(after) > 1:
        text = "objects are no longer converted, only their apiVersion changes"
        yield Change(
            definition=name, code="conversion-removed", text=text, stored="may", writers="breaks", readers="breaks"
        )
    elif strategies[0] != strategies[1]:
        text = f"conversion was {strategies[0]} and is {strategies[1]}"
        yield Change(definition=name, code="conversion-changed", text=text)
    elif _asks_differently(
        *((spec.get("conversion") or {}).get("webhook") or {} for spec in (old["spec"], new["spec"]))
    ):
        text = "objects are converted by another webhook now, or with other versions of ConversionReview"
        yield Change(definition=name, code="conversion-changed", text=text, stored="may", writers="may", readers="may")


def _asks_differently(old: Document, new: Document) -> bool:
    """Whether two webhooks differ, where both are described. Authorities are renewed all the time."""
    calls = [
        {key: value for key, value in (webhook.get("clientConfig") or {}).items() if key != "caBundle"}
        for webhook in (old, new)
    ]
    reviews = [webhook.get("conversionReviewVersions") for webhook in (old, new)]
    return any(pair[0] and pair[1] and pair[0] != pair[1] for pair in (calls, reviews))


def _version(name: str, version: str, old: Document, new: Document) -> Iterator[Change]:
    def change(code: str, text: str, field: str = "", writers: Severity = "", readers: Severity = "") -> Change:
        return Change(
            definition=name, version=version, field=field, code=code, text=text, writers=writers, readers=readers
        )

    if old.get("served") and not new.get("served"):
        yield change("version-unserved", "is no longer served", writers="breaks", readers="breaks")
    elif new.get("served") and not old.get("served"):
        yield change("version-served", "is served now")
    if new.get("deprecated") and not old.get("deprecated"):
        yield change("version-deprecated", "is deprecated now: its users get a warning")
    elif old.get("deprecated") and not new.get("deprecated"):
        yield change("version-undeprecated", "is no longer deprecated")
    elif old.get("deprecationWarning") != new.get("deprecationWarning"):
        yield change("deprecation-warning-changed", "users get another warning that it is deprecated")
    before, after = old.get("subresources") or {}, new.get("subresources") or {}
    if "status" in after and "status" not in before:
        text = "status is a subresource now: writes to the rest of the object no longer change it"
        yield change("status-subresource-added", text, "status", writers="breaks")
    elif "status" in before and "status" not in after:
        text = "status is no longer a subresource: requests to it are not found, and writers of spec overwrite it"
        yield change("status-subresource-removed", text, "status", "breaks", "breaks")
    yield from _scale(before.get("scale"), after.get("scale"), change)
    paths = [{field["jsonPath"] for field in document.get("selectableFields") or ()} for document in (old, new)]
    for path in sorted(paths[0] - paths[1]):
        text = "can no longer be used in field selectors"
        yield change("selectable-field-removed", text, path.removeprefix("."), readers="breaks")
    for path in sorted(paths[1] - paths[0]):
        yield change("selectable-field-added", "can be used in field selectors now", path.removeprefix("."))
    old_columns, new_columns = (
        {column["name"]: column for column in document.get("additionalPrinterColumns") or ()} for document in (old, new)
    )
    for column in sorted(old_columns.keys() | new_columns.keys()):
        if column not in new_columns:
            yield change("column-removed", f"the column {column!r} is removed from tables", readers="may")
        elif column not in old_columns:
            yield change("column-added", f"the column {column!r} is new in tables")
        elif old_columns[column] != new_columns[column]:
            yield change("column-changed", f"the column {column!r} of tables shows a different field", readers="may")


def _scale(before: Document | None, after: Document | None, change: Any) -> Iterator[Change]:
    if before and not after:
        text = "the scale subresource is removed: kubectl scale and autoscalers no longer work"
        yield change("scale-subresource-removed", text, "", "breaks", "breaks")
    elif after and not before:
        yield change("scale-subresource-added", "can be scaled now")
    elif before != after:
        yield change("scale-subresource-changed", "scale uses other fields now", "", "may", "may")


def _all(name: str, version: str, code: str, text: str) -> Change:
    return Change(
        definition=name, version=version, code=code, text=text, stored="breaks", writers="breaks", readers="breaks"
    )
