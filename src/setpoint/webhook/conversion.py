"""Answers ConversionReviews: with every object converted, or with a refusal that names the object that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from setpoint.crd import ConversionError
from setpoint.meta import GroupKind, Object, Status
from setpoint.webhook.review_messages import CONVERSION_V1

CONVERT_PATH = "/convert"
"""The path of all conversions, for every kind, as in controller-runtime."""
_TURN = 64
"""The number of objects that are converted before other requests may run: a list of thousands of objects must not
delay admission and health checks.
"""
_FIXED = ("name", "namespace", "uid", "generateName", "creationTimestamp", "deletionTimestamp", "resourceVersion",
          "generation", "finalizers", "ownerReferences", "managedFields")  # fmt: skip


_ELSEWHERE: Final = "; the webhook's log has the reason"
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


class Converter(Protocol):
    """Converts the objects of one kind between its versions, without waiting. `setpoint.crd.Versions` does this."""

    @property
    def group_kind(self) -> GroupKind: ...

    @property
    def classes(self) -> Sequence[type[Object]]:
        """The class of each version."""
        ...

    @property
    def versions(self) -> Collection[str]:
        """The names of all versions, such as ``v1alpha1``."""
        ...

    def convert(self, document: dict[str, Any], to_version: str) -> dict[str, Any]:
        """Returns ``document``, which consists of plain JSON values, in the version ``to_version``. This method may
        change ``document`` itself.

        Raises:
            ConversionError: this object can't be converted.
        """
        ...


class ConversionFailed(Exception):
    """An object can't be converted; the message names the object and the reason. ``defect`` is true if the converter is
    at fault.

    The message is for the caller. If a user's function raised an exception, that exception is the ``__cause__``. It is
    only for the log, because it may contain secrets.
    """

    def __init__(self, message: str, *, defect: bool = False) -> None:
        super().__init__(message)
        self.defect = defect


class Conversions:
    """The converters of a webhook server, behind one path.

    *Guarantees*: of the metadata, only labels and annotations ever change. API servers allow nothing else, so the
    result of a converter that changes more is refused here, with the object's name. Objects keep their order. A
    conversion does not read caches, and never waits.
    """

    def __init__(self) -> None:
        self._converters: dict[GroupKind, Converter] = {}

    def __len__(self) -> int:
        return len(self._converters)

    def add(self, converter: Converter) -> None:
        """Adds a converter. Raises `ValueError` if its kind already has one."""
        if converter.group_kind in self._converters:
            raise ValueError(f"there are two converters for {converter.group_kind}")
        self._converters[converter.group_kind] = converter

    async def convert_all(self, objects: Sequence[msgspec.Raw], desired: str) -> list[msgspec.Raw]:
        """The objects, converted to the API version ``desired``. They are decoded one at a time, because lists may be
        large.

        Raises:
            ConversionFailed: an object can't be converted.
        """
        converted: list[msgspec.Raw] = []
        for index, raw in enumerate(objects):
            if index % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            try:
                document = _decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                raise ConversionFailed(f"object {index} of the request can't be read: {problem}") from None
            except RecursionError:
                raise ConversionFailed(f"object {index} of the request is nested too deeply") from None
            result = self._convert(document, index, desired)
            try:
                converted.append(msgspec.Raw(_encode(result)))
            except RecursionError:
                raise ConversionFailed(f"object {index} of the request is nested too deeply") from None
            except (TypeError, ValueError) as problem:
                why = f"its conversion to {desired} returned a value that is not JSON{_ELSEWHERE}"
                raise ConversionFailed(f"object {index} of the request: {why}", defect=True) from problem
        return converted

    def _convert(self, document: Any, index: int, desired: str) -> dict[str, Any]:
        if not isinstance(document, dict):
            raise ConversionFailed(f"object {index} of the request is not an object but {type(document).__name__}")
        metadata = document.get("metadata")
        api_version, kind = document.get("apiVersion"), document.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str) or not isinstance(metadata, dict):
            raise ConversionFailed(f"object {index} of the request lacks apiVersion, kind or metadata")
        if api_version == desired:
            return document
        group, _, version = api_version.rpartition("/")
        desired_group, _, desired_version = desired.rpartition("/")
        converter = self._converters.get(GroupKind(group, kind))
        subject = _describe(kind, metadata)
        if converter is None:
            supported = ", ".join(sorted(map(str, self._converters))) or "nothing"
            raise ConversionFailed(f"{subject}: no conversion for {kind} of {api_version} is served, only {supported}")
        if group != desired_group:
            raise ConversionFailed(f"{subject}: {api_version} can't become {desired}: the groups differ")
        for name in (version, desired_version):
            if name not in converter.versions:
                versions = ", ".join(sorted(converter.versions))
                raise ConversionFailed(f"{subject}: there is no version {name} of {kind}.{group}, only {versions}")
        fixed = {name: metadata.get(name) for name in _FIXED}
        try:
            result = converter.convert(document, desired_version)
        except RecursionError:
            raise ConversionFailed(f"{subject}: nested too deeply") from None
        except Exception as problem:  # any error is about this object, and the answer must name it
            if isinstance(problem, ConversionError) and problem.__cause__ is None:
                raise ConversionFailed(f"{subject}: {problem}") from None  # setpoint's own message
            why = f"its conversion from {api_version} to {desired} failed{_ELSEWHERE}"
            raise ConversionFailed(f"{subject}: {why}", defect=True) from problem
        _verify(result, subject, desired, fixed)
        return result


def _verify(result: Any, subject: str, desired: str, fixed: Mapping[str, Any]) -> None:
    """Raises `ConversionFailed` if API servers would refuse ``result``; their own message would not name the object."""
    if not isinstance(result, dict) or result.get("apiVersion") != desired:
        actual = result.get("apiVersion") if isinstance(result, dict) else type(result).__name__
        raise ConversionFailed(f"{subject}: its conversion returned {actual!r} instead of {desired!r}", defect=True)
    metadata = result.get("metadata")
    for name, value in fixed.items():
        now = metadata.get(name) if isinstance(metadata, dict) else None
        if now != value:
            raise ConversionFailed(
                f"{subject}: its conversion to {desired} changed metadata.{name}; only labels and annotations may "
                "change",
                defect=True,
            )


def _describe(kind: str, metadata: Mapping[str, Any]) -> str:
    name, namespace = metadata.get("name", ""), metadata.get("namespace")
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def review_of(uid: str, objects: list[msgspec.Raw]) -> dict[str, Any]:
    return _review({"uid": uid, "convertedObjects": objects, "result": {"status": "Success"}})


def failure(uid: str, message: str) -> dict[str, Any]:
    """The review that refuses the conversion of all objects. API servers show ``message`` to the user."""
    return _review({"uid": uid, "convertedObjects": [], "result": Status(status="Failure", message=message)})


def _review(response: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "ConversionReview", "apiVersion": CONVERSION_V1, "response": response}
