"""Writes ``tools/models/gates.json``, which gates hide which fields: ``python tools/feature_gates.py 1.37.1``.

Read are the published Go modules of that release: the gates with their stages from ``pkg/features/kube_features.go`` of
``k8s.io/kubernetes``, the gates of fields from the ``+featureGate`` lines of ``k8s.io/api``. Run it for each new minor
version of Kubernetes, before ``make models``; it needs Go.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parent / "models" / "gates.json"
_GATE = re.compile(r"^\t(?:\w+\.)?(\w+): \{\n((?:\t\t.*\n)+)\t\}", re.MULTILINE)
_SPEC = re.compile(r'MustParse\("1\.(\d+)"\), Default: (true|false),.*?PreRelease: featuregate\.(\w+)')
_STRUCT = re.compile(r"type (\w+) struct")
_TAG = re.compile(r"\+featureGate=(\w+)")
_FIELD = re.compile(r'json:"(\w+)')
_INLINED = {"EphemeralContainerCommon": "EphemeralContainer"}
"""Structs that have no definition of their own, because another struct contains their fields."""
_UNTAGGED = {
    "io.k8s.api.core.v1.Lifecycle.stopSignal": "ContainerStopSignals",
    "io.k8s.api.core.v1.VolumeMountStatus.volumeStatus": "ImageVolumeWithDigest",
    "io.k8s.api.core.v1.VolumeProjection.podCertificate": "PodCertificateRequest",
}
"""Fields whose gate no such line names: kube-apiserver's code drops them (``dropDisabledFields``)."""


def stages(source: str) -> dict[str, str]:
    """The stages of all gates, such as ``32a 34b``: the minor version, and a (alpha), o (beta, off by default), b
    (beta, on by default) or s (stable).
    """
    gates = {}
    for name, body in _GATE.findall(source):
        if specs := [f"{minor}{_letter(stage, default == 'true')}" for minor, default, stage in _SPEC.findall(body)]:
            gates[name] = " ".join(specs)
    return gates


def _letter(stage: str, on: bool) -> str:
    if stage in ("GA", "Deprecated"):
        return "s" if on else "o"
    return "a" if stage == "Alpha" and not on else "b" if on else "o"


def fields(folder: Path) -> Iterator[tuple[str, str]]:
    """The gated fields of all versions of all groups, as names of definitions with the field, and their gates."""
    for file in sorted(folder.glob("*/*/types.go")):
        package = ".".join(file.parts[-3:-1])
        struct, gate = "", ""
        for line in file.read_text("utf-8").splitlines():
            if match := _STRUCT.match(line):
                struct, gate = _INLINED.get(match[1], match[1]), ""
            elif line.startswith("}"):
                struct = ""
            elif match := _TAG.search(line):
                gate = gate or match[1]
            elif struct and (match := _FIELD.search(line)):
                if gate:
                    yield f"io.k8s.api.{package}.{struct}.{match[1]}", gate
                gate = ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="feature_gates", description=__doc__)
    parser.add_argument("version", help="a release with its patch, for instance 1.37.1")
    version = parser.parse_args(arguments).version
    api = _module(f"k8s.io/api@v0{version.removeprefix('1')}")
    kubernetes = _module(f"k8s.io/kubernetes@v{version}")
    gates = stages((kubernetes / "pkg" / "features" / "kube_features.go").read_text("utf-8"))
    document = {
        "release": version,
        "gates": dict(sorted(gates.items())),
        "fields": dict(sorted(fields(api))) | _UNTAGGED,
    }
    FILE.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    print(f"{FILE.name}: {len(gates)} gates, {len(document['fields'])} fields")
    return 0


def _module(name: str) -> Path:
    command = ["go", "mod", "download", "-json", name]
    done = subprocess.run(command, cwd=Path.home(), stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stdout.decode()}")
    return Path(json.loads(done.stdout)["Dir"])


if __name__ == "__main__":
    raise SystemExit(main())
