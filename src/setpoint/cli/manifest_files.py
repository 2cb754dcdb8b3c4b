"""Objects in YAML and JSON files: read for ``check``, and applied by ``setpoint server --manifests``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from setpoint.apps.error_reports import UsageError
from setpoint.meta.yaml_files import SUFFIXES, YamlFileError, documents_in, items_of, yaml_files

if TYPE_CHECKING:
    from setpoint.cluster.embedded import EmbeddedCluster

_DEFINITION: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_NAMESPACE: Final = ("v1", "Namespace")
_FIRST: Final = (_NAMESPACE, _DEFINITION)


class Manifest(NamedTuple):
    """An object in a file: the file's name and text, the number of the document (from 0, counting only
    mappings), and the position in a list.
    """

    file: str
    text: bytes
    number: int
    position: int | None
    document: dict[str, Any]

    def __str__(self) -> str:
        item = "" if self.position is None else f", item {self.position + 1}"
        return f"{self.file}, document {self.number + 1}{item}"


def read_manifests(places: Iterable[Path]) -> Iterator[Manifest]:
    """The objects in the files, and in the files of folders and of the folders in them, ordered by path; ``-`` is
    standard input. Lists give their items.

    Raises:
        YamlFileError: a file can't be read, or is not YAML.
    """
    for place in places:
        for file in yaml_files(place):
            name = "standard input" if str(file) == "-" else str(file)
            try:
                text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
            except OSError as problem:
                raise YamlFileError(f"{name}: {problem.strerror}") from None
            documents = documents_in(text, name)
            for number, document in enumerate(document for document in documents if isinstance(document, dict)):
                for index, item in enumerate(items_of(document)):
                    if isinstance(item, dict):
                        yield Manifest(name, text, number, None if item is document else index, item)


def manifests_in(directory: Path) -> list[Manifest]:
    """The objects in the files of ``directory``, as `read_manifests` orders them, but Namespaces and then
    CustomResourceDefinitions first.

    Raises:
        UsageError: ``directory`` is missing, is not a directory or contains no object, a file can't be read, or what is
            in it is not an object; the message names the file and the document.
    """
    if not directory.is_dir():
        missing = "is not a directory" if directory.exists() else "there is no such directory"
        raise UsageError(f"--manifests {directory}: {missing}")
    manifests = list(read_manifests([directory]))
    if not manifests:
        raise UsageError(f"--manifests {directory}: no object is in its {', '.join(SUFFIXES)} files")
    for manifest in manifests:
        metadata = manifest.document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not all(isinstance(text, str) for text in (*_kind(manifest), name)):
            raise UsageError(f"{manifest}: an object needs apiVersion, kind and metadata.name")
    return sorted(manifests, key=_rank)


async def apply_manifests(cluster: EmbeddedCluster, manifests: Iterable[Manifest]) -> None:
    """Applies the objects to the cluster in their order.

    It is a server-side apply with force: fields that the files don't have stay, and a second time changes nothing.
    Objects of namespaced kinds without a namespace go into ``default``. Objects that were applied before an error stay.

    Raises:
        UsageError: the server refuses an object; the message names the file and the document.
    """
    for manifest in manifests:
        await _apply(cluster, manifest)


def _rank(manifest: Manifest) -> int:
    kind = _kind(manifest)
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _kind(manifest: Manifest) -> tuple[Any, Any]:
    return manifest.document.get("apiVersion"), manifest.document.get("kind")


async def _apply(cluster: EmbeddedCluster, manifest: Manifest) -> None:
    from setpoint.client import ApiError, NoMatchError
    from setpoint.client.dynamic import dynamic
    from setpoint.meta import GroupVersionKind

    document = manifest.document
    api_version, kind = _kind(manifest)
    name = document["metadata"]["name"]
    group, _, version = api_version.rpartition("/")
    try:
        resource = await cluster.client.rest_mapper.for_kind(GroupVersionKind(group, version, kind))
        await cluster.client.apply(dynamic(resource).of(document))
        if _kind(manifest) == _DEFINITION:
            await cluster.install(document)  # waits until its objects can be written
    except NoMatchError:
        raise UsageError(
            f"{manifest}: the server does not serve {kind} of {api_version}: add its CustomResourceDefinition to the "
            "directory, or correct apiVersion and kind"
        ) from None
    except TimeoutError:
        raise UsageError(f"{manifest}: {kind} {name}: the server did not begin to serve its objects") from None
    except (ApiError, ValueError) as problem:
        raise UsageError(f"{manifest}: {kind} {name}: {problem}") from None
