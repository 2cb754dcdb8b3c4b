"""Recordings: the lists and events of one workload as a server sends them, prepared in files.

The files are beside the builds, so that each is prepared once. They are sent with ``sendfile``, which costs the server
little more than the copy into the socket, and no memory, however many objects there are.

A recording has one of three forms: ``json``; ``metadata``, what servers send to those who ask for
``PartialObjectMetadata``; and ``protobuf``, whose objects are encoded by the Go program of the informers.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from workloads import WORKLOADS, objects

HERE = Path(__file__).resolve().parent
BUILD = HERE / ".build"
CONTENT_TYPES = {
    "json": "application/json",
    "metadata": "application/json",
    "protobuf": "application/vnd.kubernetes.protobuf",
}
ACCEPTED = {"json": "json", "metadata": "as=PartialObjectMetadata", "protobuf": "vnd.kubernetes.protobuf"}
"""The part of the ``Accept`` header of a client that can read the form."""
_PROTOBUF = b"k8s\0"
_SOURCES = ("recording.py", "workloads.py", "pods.py")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Recording:
    """The objects of one workload in one form. ``version`` is the resource version of their list."""

    def __init__(self, name: str, count: int, form: str) -> None:
        workload = WORKLOADS[name]
        self.plural, self.count, self.form = workload.plural, count, form
        self.version = 1000 + count - 1
        self._workload = workload
        self._kind, self._api_version = workload.kind, workload.api_version
        if form == "metadata":
            self._kind, self._api_version = "PartialObjectMetadata", "meta.k8s.io/v1"
        sources = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in _SOURCES)).hexdigest()[:12]
        folders = BUILD / "replay"
        self._folder = folders / f"{name}-{count}-{form}-{sources}"
        for folder in folders.glob("*"):
            if not folder.name.endswith(sources):  # of other sources
                shutil.rmtree(folder, ignore_errors=True)

    # -- what is sent --------------------------------------------------------------------------------------------------

    def added(self) -> BinaryIO:
        """One ADDED event for each object, in HTTP chunks."""
        return self._file("added", lambda: map(self._event_of("ADDED"), self._documents(0)))

    def changes(self) -> BinaryIO:
        """One MODIFIED event for each object, in HTTP chunks."""
        return self._file("changes", lambda: map(self._event_of("MODIFIED"), self._documents(1)))

    def bookmark(self) -> bytes:
        """The event that ends the ADDED events of a streamed list."""
        end = {
            "kind": self._kind,
            "apiVersion": self._api_version,
            "metadata": {
                "resourceVersion": str(self.version),
                "creationTimestamp": None,
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
            **({"spec": {"containers": None}, "status": {}} if self._kind == "Pod" else {}),
        }
        (document,) = self._encoded([json.dumps(end, separators=(",", ":")).encode()])
        return self._event_of("BOOKMARK")(document)

    def list(self, first: int, limit: int) -> tuple[bytes, BinaryIO, int, int, bytes]:
        """A page of at most ``limit`` objects (0: all): what comes before the items, their file, where they begin and
        end in it, and what comes after them.
        """
        items = self._file("items", lambda: map(self._item, self._documents(0)))
        last = min(first + limit, self.count) if limit else self.count
        begin, end = 0, (self._folder / "items").stat().st_size
        if first or last < self.count:
            places = array("Q", (self._folder / "places").read_bytes())
            begin, end = places[first], places[last]
        token = str(last) if last < self.count else ""
        if self.form == "protobuf":
            return _list_head(self._kind, self._api_version, self.version, token, end - begin), items, begin, end, b""
        metadata = {"resourceVersion": str(self.version), **({"continue": token} if token else {})}
        envelope = {"kind": f"{self._kind}List", "apiVersion": self._api_version, "metadata": metadata}
        head = json.dumps(envelope, separators=(",", ":")).encode()[:-1] + b',"items":['
        # Each item but the last one has a comma behind it, which no page may end with.
        return head, items, begin, end - 1, b"]}\n"

    # -- files ---------------------------------------------------------------------------------------------------------

    def prepare(self, lists: str) -> None:
        """Makes the files for plain or streamed lists, unless there are some."""
        if lists == "streamed":
            self.added().close()
        else:
            self.list(0, 0)[1].close()
        self.changes().close()

    def _file(self, name: str, parts: Callable[[], Iterable[bytes]]) -> BinaryIO:
        path = self._folder / name
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            sizes = array("Q")
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                for part in parts():
                    file.write(part)
                    sizes.append(len(part))
            if name == "items":
                (self._folder / "places").write_bytes(array("Q", accumulate(sizes, initial=0)).tobytes())
            Path(file.name).rename(path)
        return path.open("rb")

    def _documents(self, round: int) -> Iterator[bytes]:
        documents = objects(self._workload, self.count, round=round)
        return self._encoded(map(self._metadata_only, documents) if self.form == "metadata" else documents)

    def _metadata_only(self, document: bytes) -> bytes:
        partial = {"kind": self._kind, "apiVersion": self._api_version, "metadata": json.loads(document)["metadata"]}
        return json.dumps(partial, separators=(",", ":")).encode()

    def _encoded(self, documents: Iterable[bytes]) -> Iterator[bytes]:
        if self.form != "protobuf":
            yield from documents
            return
        with tempfile.TemporaryFile() as lines:
            lines.writelines(document + b"\n" for document in documents)
            lines.seek(0)
            command = [str(BUILD / "informer"), "encode", self._kind]
            with subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE) as encoder:
                assert encoder.stdout is not None
                while size := encoder.stdout.read(4):
                    yield encoder.stdout.read(int.from_bytes(size, "big"))
            if encoder.returncode:
                raise RuntimeError(f"{command} failed")

    def _event_of(self, type: str) -> Callable[[bytes], bytes]:
        """The function that makes an event in an HTTP chunk of an object."""
        if self.form != "protobuf":
            return lambda raw: chunk(b'{"type":"%b","object":%b}\n' % (type.encode(), raw))

        def frame(raw: bytes) -> bytes:
            document = _PROTOBUF + _unknown(self._kind, self._api_version) + _field(2, raw)
            event = _field(1, type.encode()) + _field(2, _field(1, document))
            return chunk(len(event).to_bytes(4, "big") + event)

        return frame

    def _item(self, raw: bytes) -> bytes:
        if self.form == "protobuf":
            return _field(2, raw)
        bare = b'{"kind":"%b","apiVersion":"%b",' % (self._kind.encode(), self._api_version.encode())
        # Items of built-in kinds have neither.
        return (b"{" + raw.removeprefix(bare) if raw.startswith(bare) and self.form == "json" else raw) + b","


# -- protobuf, as in k8s.io/apimachinery's generated.proto of runtime and meta/v1 --------------------------------------


def _varint(number: int) -> bytes:
    body = bytearray()
    while number > 127:
        body.append(number & 127 | 128)
        number >>= 7
    body.append(number)
    return bytes(body)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _unknown(kind: str, api_version: str) -> bytes:
    """The type of the object that follows in a runtime.Unknown."""
    return _field(1, _field(1, api_version.encode()) + _field(2, kind.encode()))


def _list_head(kind: str, api_version: str, version: int, token: str, size: int) -> bytes:
    """The head of a list, before ``size`` bytes of items."""
    metadata = _field(2, str(version).encode()) + (_field(3, token.encode()) if token else b"")
    head = _field(1, metadata)
    raw = _varint(2 << 3 | 2) + _varint(len(head) + size) + head
    return _PROTOBUF + _unknown(f"{kind}List", api_version) + raw
