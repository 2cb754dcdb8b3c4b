"""A container image as one file, written without a container engine, in the format of ``docker save``.

``docker load``, ``podman load`` and ``ctr image import`` read it. Unlike OCI's own, the format has health checks. The
same folders give the same bytes: entries are sorted, owned by root, and have one fixed time.
https://github.com/moby/docker-image-spec
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
    """Writes the image to ``target``, and returns its id. ``tag`` is NAME:VERSION; ``run`` has what a container
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
    image = _digest(config)
    names = [f"{_digest(layer.content).removeprefix('sha256:')}.tar.gz" for layer in layers]
    manifest = {"Config": f"{image.removeprefix('sha256:')}.json", "RepoTags": [tag], "Layers": names}
    files = {"manifest.json": json.dumps([manifest]).encode(), manifest["Config"]: config}
    files |= {name: layer.content for name, layer in zip(names, layers, strict=True)}
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), _TIME, 0o644
            archive.addfile(info, io.BytesIO(content))
    return image


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
