"""Recorder: records the changes in a live cluster to a file, from which a simulation can replay them."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec

from setpoint.client import ApiError, Client, DynamicObject, Forbidden, TransportError
from setpoint.meta import resource_of, to_wire
from setpoint.simulation.scenario.recording_replay import FORMAT, RecordingError, read_lines
from setpoint.simulation.scenario.redaction import Redactor

_WAITS: Final = (1.0, 30.0)
"""The first and the longest wait, in seconds, before a failed request is made again."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Full(Exception):
    """The recording has reached its maximum size."""


class Recorder:
    """Appends one line of JSON for each change to ``path``; an existing recording is continued.

    Each line is written immediately, and the next recorder drops a line that a crash has cut off, so a recording is
    always valid. A second file, ``path`` with ``.key`` appended, holds the key from which stand-ins are made; only its
    owner can read it. Keep it secret. It is needed only to continue the recording, not to replay it.

    ``redact`` has the fields to replace with stand-ins, in the form that `Redactor` describes. ``most`` is the maximum
    size of the file in bytes. ``report_retry`` is called with a message when a request has failed and will be tried
    again. The recorder needs only the permissions to ``list`` and ``watch`` the kinds.

    Raises:
        RecordingError: the file is not a recording, or its key is missing.
        OSError: the file can't be written.
        Full: ``most`` does not suffice for the first line.
        ValueError: an entry of ``redact`` does not have that form.
    """

    def __init__(
        self,
        path: Path,
        *,
        redact: Sequence[str] = (),
        most: int,
        report_retry: Callable[[str], None],
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._path = path
        self._most = most
        self._report_retry = report_retry
        self._now = now
        self._digests: dict[str, dict[str, bytes]] = {}
        """The digest of the last recorded state of every object that has not been deleted, by collection and key."""
        self.events = 0
        exists = path.exists() and path.stat().st_size > 0
        key = path.with_name(f"{path.name}.key")
        if exists:
            self._size = self._read()
            os.truncate(path, self._size)
            if not key.is_file():
                raise RecordingError(
                    f"{key} is missing: without it, the same values would get different stand-ins than before"
                )
        is_new = not key.exists()
        secret = secrets.token_bytes(32) if is_new else key.read_bytes()
        self._stand_ins = Redactor(secret, redact)
        if is_new:
            with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secret)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        if not exists or self._size == 0:
            self._size = 0
            try:
                self._append({"format": FORMAT, "began": now()})
            except BaseException:  # raised again, Ctrl-C too: the caller gets no recorder that it could close
                self.close()
                raise

    def _read(self) -> int:
        """Reads the existing recording and returns the number of bytes in its complete lines."""
        whole = 0
        for line, end in read_lines(self._path):
            if line is not None:
                self._note(line.collection, line.key, None if line.type == "DELETED" else line.object)
                self.events += 1
            whole = end
        return whole

    def close(self) -> None:
        os.close(self._file)

    async def record(self, client: Client, kinds: Sequence[type[DynamicObject]], namespace: str | None) -> None:
        """Records until it is cancelled or the recording has reached its maximum size (`Full`).

        Raises:
            ExceptionGroup: contains a `Full`, a Forbidden because permission for a kind is missing, or the ApiError or
                TransportError that prevented the first list of a kind.
        """
        async with asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(self._follow(client, kind, namespace), name=f"record {resource_of(kind)}")

    async def _follow(self, client: Client, kind: type[DynamicObject], namespace: str | None) -> None:
        wait, version = _WAITS[0], ""
        followed = False
        while True:
            try:
                if not version:
                    version = await self._list(client, kind, namespace)
                followed = True
                async for event_version in self._watch(client, kind, namespace, version):
                    version, wait = event_version, _WAITS[0]
                continue
            except (ApiError, TransportError) as problem:
                if not followed or isinstance(problem, Forbidden):
                    raise
                if isinstance(problem, ApiError):
                    version = ""  # what was missed is seen by a list
                self._report_retry(f"{resource_of(kind).plural}: {problem}; tried again in {wait:g} s")
            await asyncio.sleep(wait)
            wait = min(2 * wait, _WAITS[1])

    async def _list(self, client: Client, kind: type[DynamicObject], namespace: str | None) -> str:
        """Records the objects that differ from their last recorded state, and returns the version to continue from."""
        objects = await client.list(kind, namespace=namespace)
        collection = str(resource_of(kind).group_resource)
        missing = set(self._digests.get(collection, ()))
        for obj in objects:
            document = to_wire(obj)
            missing.discard(_key(document))
            self._write("ADDED", collection, document)
        for key in sorted(missing):
            space, _, name = key.rpartition("/")
            self._write("DELETED", collection, {"metadata": {"namespace": space, "name": name}})
        return objects.metadata.resource_version

    async def _watch(
        self, client: Client, kind: type[DynamicObject], namespace: str | None, version: str
    ) -> AsyncIterator[str]:
        collection = str(resource_of(kind).group_resource)
        async with client.watch(kind, namespace=namespace, resource_version=version) as events:
            async for event in events:
                if (problem := event.error) is not None:
                    raise problem
                if event.type in ("ADDED", "MODIFIED", "DELETED"):
                    self._write(event.type, collection, msgspec.json.decode(event.raw))
                yield event.resource_version

    def _write(self, type_: str, collection: str, document: dict[str, Any]) -> None:
        redacted = self._stand_ins.redacted(collection, document)
        key = _key(redacted)
        digests = self._digests.setdefault(collection, {})
        if type_ == "DELETED":
            if key not in digests:
                return
        elif digests.get(key) == _digest(redacted):
            return  # seen before: a list says so again
        else:
            type_ = "MODIFIED" if key in digests else "ADDED"
        self._append({"at": self._now(), "type": type_, "collection": collection, "key": key, "object": redacted})
        self._note(collection, key, None if type_ == "DELETED" else redacted)
        self.events += 1

    def _note(self, collection: str, key: str, document: dict[str, Any] | None) -> None:
        digests = self._digests.setdefault(collection, {})
        if document is None:
            digests.pop(key, None)
        else:
            digests[key] = _digest(document)

    def _append(self, line: dict[str, Any]) -> None:
        raw = msgspec.json.encode(line) + b"\n"
        if self._size + len(raw) > self._most:
            raise Full
        view = memoryview(raw)
        while view:
            view = view[os.write(self._file, view) :]
        self._size += len(raw)


def _key(document: dict[str, Any]) -> str:
    meta = document["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]


def _digest(document: dict[str, Any]) -> bytes:
    return blake2b(msgspec.json.encode(document, order="sorted"), digest_size=16).digest()
