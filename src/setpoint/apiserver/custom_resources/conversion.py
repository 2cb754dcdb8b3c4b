"""Conversion webhooks of CRDs, which convert custom objects between versions.

As in upstream's ``webhook_converter.go``, a converted object must have the same kind, name, namespace and uid as
before. Of its metadata, only labels and annotations may change; changes to other metadata are ignored.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from setpoint.apiserver.depth_limit import TOO_DEEP, is_too_deep
from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.objects.metadata import MAX_ANNOTATIONS, new_uid
from setpoint.apiserver.replay import Replay, Suspended
from setpoint.apiserver.requests.body import MAX_BODY
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.state import State
from setpoint.apiserver.webhooks.caller import CallFailed, Target
from setpoint.apiserver.webhooks.responses import ask, response_of, review_version
from setpoint.meta.json_values import whole_numbers
from setpoint.meta.names import label_value, qualified_name
from setpoint.schema.errors import too_long

JsonObject = dict[str, Any]
_TIMEOUT: Final = 30.0
_BATCH: Final = 500
_SHOWN: Final = ("labels", "annotations")
Conversion = tuple[Hashable, JsonObject, ServedResource]


class ConversionWebhook:
    """Calls the conversion webhook of one CRD (``spec.conversion.webhook``). The webhook's answers are kept in the
    `Replay` of a request until that request ends.
    """

    def __init__(self, state: State, config: JsonObject) -> None:
        self._state = state
        self._target = Target.of(config["clientConfig"], f"timeout={_TIMEOUT:.0f}s")
        self._api_version = f"apiextensions.k8s.io/{review_version(config.get('conversionReviewVersions'))}"

    def convert(self, obj: JsonObject, target: ServedResource, replay: Replay | None) -> JsonObject:
        """``obj`` in the version of ``target``; ``obj`` itself if it already has that
        version. If ``replay`` does not have the webhook's answer, this method raises Suspended, or returns a
        placeholder while `Replay.batch` collects questions.
        """
        resource = target.resource
        if obj.get("apiVersion") == resource.api_version:
            return obj
        metadata = obj.get("metadata") or {}
        # The rest of the metadata can't make a difference, and changes with every write.
        visible = {key: metadata.get(key) for key in ("name", "namespace", "uid", *_SHOWN)}
        key = (self, resource.api_version, msgspec.json.encode({**obj, "metadata": visible}))
        answer = replay.answers.get(key) if replay is not None else None
        if answer is None:
            wanted = (key, {**obj, "metadata": metadata}, target)
            if replay is not None and replay.collect(self, wanted):
                return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": dict(metadata)}
            raise Suspended(lambda replay: self.learn(replay, [wanted]))
        converted: JsonObject = msgspec.json.decode(answer)
        changed_metadata = converted.get("metadata") or {}
        unchanged = {name: value for name, value in metadata.items() if name not in _SHOWN}
        converted["metadata"] = {
            **unchanged,
            **{name: changed_metadata[name] for name in _SHOWN if changed_metadata.get(name)},
        }
        return converted

    async def learn(self, replay: Replay, conversions: Sequence[Conversion]) -> None:
        """Calls the webhook and puts its answers into ``replay``. Raises ApiStatusError (500) if the call fails or the
        webhook returns invalid objects.
        """
        by_version: dict[str, dict[Hashable, JsonObject]] = {}
        for key, obj, target in conversions:
            by_version.setdefault(target.resource.api_version, {})[key] = obj
        for version, objects_of_version in by_version.items():
            for part in _parts(objects_of_version.items()):
                documents = await self._ask([obj for _, obj in part], version)
                for (key, _), document in zip(part, documents, strict=True):
                    replay.answers[key] = msgspec.json.encode(document)

    async def _ask(self, objects: list[JsonObject], version: str) -> list[JsonObject]:
        first = objects[0]
        prefix = f"conversion webhook for {first.get('apiVersion')}, Kind={first.get('kind')}"
        uid = new_uid(self._state.random)
        review = {
            "kind": "ConversionReview",
            "apiVersion": self._api_version,
            "request": {"uid": uid, "desiredAPIVersion": version, "objects": objects},
        }
        try:
            document = await ask(self._state.webhook_caller, self._target, review, _TIMEOUT)
            response = response_of(document, "ConversionReview", self._api_version, uid)
            converted = _converted(response)
        except CallFailed as problem:
            raise ApiStatusError(500, "", f"{prefix} failed: {problem}") from None
        if len(converted) != len(objects):
            raise ApiStatusError(500, "", f"{prefix} returned {len(converted)} objects, expected {len(objects)}")
        for index, (obj, answer) in enumerate(zip(objects, converted, strict=True)):
            wrong = _problem(obj, answer, version, index)
            if wrong:
                raise ApiStatusError(500, "", f"{prefix} returned {wrong}")
        return converted


def _parts(items: Iterable[tuple[Hashable, JsonObject]]) -> Iterator[list[tuple[Hashable, JsonObject]]]:
    """The objects of one review each: as many as webhooks can be expected to read."""
    part: list[tuple[Hashable, JsonObject]] = []
    size = 0
    for item in items:
        length = len(msgspec.json.encode(item[1]))
        if part and (len(part) == _BATCH or size + length > MAX_BODY):
            yield part
            part, size = [], 0
        part.append(item)
        size += length
    if part:
        yield part


def _converted(response: JsonObject) -> list[Any]:
    """The converted objects of a response. Raises CallFailed."""
    result = response.get("result")
    result = result if isinstance(result, dict) else {}
    if result.get("status") != "Success":
        message = result.get("message")
        raise CallFailed(message or f"response.result.status was '{result.get('status', '')}', not 'Success'")
    objects = response.get("convertedObjects") or []
    if not isinstance(objects, list):
        raise CallFailed("response.convertedObjects must be a list")
    whole_numbers(objects)
    return objects


def _problem(obj: JsonObject, document: Any, version: str, index: int) -> str:
    """The error in a converted object; empty if it is valid."""
    prefix = f"invalid object at index {index}"
    if not isinstance(document, dict):
        return f"{prefix}: not an object"
    if is_too_deep(document):
        return f"{prefix}: {TOO_DEEP}"
    if document.get("apiVersion", "") != version:
        return f"{prefix}: invalid groupVersion (expected {version}, received {document.get('apiVersion', '')})"
    if document.get("kind", "") != obj.get("kind", ""):
        return f"{prefix}: invalid kind (expected {obj.get('kind', '')}, received {document.get('kind', '')})"
    if "metadata" not in document:
        return "invalid metadata: missing metadata in converted object"
    metadata, before = document["metadata"], obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        return f"invalid metadata: invalid metadata of type {type(metadata).__name__} in converted object"
    for key, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        was, is_ = before.get(key) or "", metadata.get(key) or ""
        if was != is_:
            return f"invalid object: must have the same {word}: {was} != {is_}"
    return _metadata_problem(metadata)


def _metadata_problem(metadata: JsonObject) -> str:
    for name in _SHOWN:
        values = metadata.get(name) or {}
        if not isinstance(values, dict):
            return f"invalid metadata: invalid metadata.{name} of type {type(values).__name__} in converted object"
        for key, value in values.items():
            if not isinstance(value, str):
                return f"invalid metadata: metadata.{name}[{key}] must be a string"
            problems = qualified_name(key if name == "labels" else key.lower())
            if name == "labels":
                problems = problems + label_value(value)
            if problems:
                return f'invalid metadata: metadata.{name}: Invalid value: "{key}": {problems[0]}'
    annotations = metadata.get("annotations") or {}
    if sum(len(f"{key}{value}".encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS:
        return f"invalid metadata: {too_long('metadata.annotations', MAX_ANNOTATIONS)}"
    return ""
