"""A container image as one file, written without a container engine: an OCI layout that ``docker load`` reads, too.

The same folders give the same bytes: entries are sorted, owned by root, and have one fixed time.
Formats: https://github.com/opencontainers/image-spec (layout, manifest, config, layers) and ``manifest.json`` of
``docker save``, which engines before Docker 25 need.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CREATED = "2023-11-14T22:13:20Z"
_TIME = 1_700_000_000
_OCI = "application/vnd.oci.image"


@dataclass(frozen=True)
class Layer:
    """The files of one folder: the compressed archive, and the digest of the archive before compression."""

    content: bytes
    diff_id: str


def layer_of(folder: Path) -> Layer:
    """The files of ``folder`` as a layer. Group and others may not write any of them, except in ``tmp``."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            entry = archive.gettarinfo(path, path.relative_to(folder).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = _TIME
            entry.mode = 0o1777 if entry.name == "tmp" else entry.mode & ~0o022
            if entry.isreg():
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    return Layer(gzip.compress(plain.getvalue(), 9, mtime=0), _digest(plain.getvalue()))


def write_archive(target: Path, layers: Sequence[Layer], tag: str, architecture: str, run: Mapping[str, Any]) -> str:
    """Writes the image to ``target``, and returns its digest. ``tag`` is NAME:VERSION; ``run`` has what a container
    starts with, by the names of an image's ``config`` (``Entrypoint``, ``User`` ...).
    """
    config = json.dumps(
        {
            "architecture": architecture,
            "os": "linux",
            "created": CREATED,
            "config": dict(run),
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        }
    ).encode()
    blobs = [config, *(layer.content for layer in layers)]
    kinds = [f"{_OCI}.config.v1+json", *(f"{_OCI}.layer.v1.tar+gzip" for _ in layers)]
    described = [_descriptor(kind, blob) for kind, blob in zip(kinds, blobs, strict=True)]
    kind = f"{_OCI}.manifest.v1+json"
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": kind, "config": described[0], "layers": described[1:]}
    ).encode()
    entry = _descriptor(kind, manifest)
    entry["annotations"] = {
        "io.containerd.image.name": f"docker.io/library/{tag}",  # how containerd writes a name without a registry
        "org.opencontainers.image.ref.name": tag.rpartition(":")[2],
    }
    of_docker = {"Config": _place(config), "RepoTags": [tag], "Layers": [_place(layer.content) for layer in layers]}
    files = {
        "oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode(),
        "manifest.json": json.dumps([of_docker]).encode(),
        **{_place(blob): blob for blob in (manifest, *blobs)},
    }
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), _TIME, 0o644
            archive.addfile(info, io.BytesIO(content))
    return _digest(manifest)


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _place(content: bytes) -> str:
    return f"blobs/{_digest(content).replace(':', '/')}"


def _descriptor(kind: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": _digest(content), "size": len(content)}
