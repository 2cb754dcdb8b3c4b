"""The Secrets and ConfigMaps without which the containers of a pod do not start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final, NamedTuple

import msgspec

from setpoint.models.core_v1 import ConfigMap, Container, Pod, Secret, Volume, VolumeProjection


class ConfigReference(NamedTuple):
    """A Secret or a ConfigMap in the namespace of a pod."""

    kind: type[Secret | ConfigMap]
    name: str


KINDS: Final[tuple[type[Secret | ConfigMap], ...]] = (Secret, ConfigMap)
Found = Mapping[ConfigReference, Set[str] | None]
"""The keys of each source; None for a source that does not exist."""


class _Need(NamedTuple):
    source: ConfigReference
    keys: tuple[str, ...] = ()


class Lack(msgspec.Struct, frozen=True):
    """The missing Secrets, ConfigMaps and keys of a pod, in the words of a kubelet."""

    volume: str = ""
    """The reason why a volume can't be mounted, so no container starts; empty if all can be."""
    containers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The reasons why containers can't be started, by container."""


NOTHING: Final = Lack()


def sources_of(pod: Pod) -> set[ConfigReference]:
    """The Secrets and ConfigMaps that the pod's volumes and containers need. Optional ones do not count."""
    needs = [need for _, need in _of_volumes(pod)]
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        needs += _of_container(container)
    return {need.source for need in needs}


def lack_of(pod: Pod, sources: Found) -> Lack:
    """The sources and keys that the pod lacks, given what its sources have."""
    volume = ""
    for name, need in _of_volumes(pod):
        problem = _unmounted(need, sources[need.source])
        if problem:
            volume = f'MountVolume.SetUp failed for volume "{name}" : {problem}'
            break
    containers = {}
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        problems = (_unset(need, sources[need.source], pod.namespace) for need in _of_container(container))
        problem = next(filter(None, problems), "")
        if problem:
            containers[container.name] = problem
    return Lack(volume, containers)


def _of_volumes(pod: Pod) -> Iterator[tuple[str, _Need]]:
    for volume in pod.spec.volumes:
        for source in (volume, *(volume.projected.sources if volume.projected is not None else ())):
            yield from ((volume.name, need) for need in _of_volume(source))


def _of_volume(volume: Volume | VolumeProjection) -> Iterator[_Need]:
    if isinstance(volume, VolumeProjection):
        name = volume.secret.name if volume.secret is not None else None
    else:
        name = volume.secret.secret_name if volume.secret is not None else None
    secret, config_map = volume.secret, volume.config_map
    if secret is not None and not secret.optional:
        yield _Need(ConfigReference(Secret, name or ""), tuple(item.key for item in secret.items))
    if config_map is not None and not config_map.optional:
        yield _Need(ConfigReference(ConfigMap, config_map.name or ""), tuple(item.key for item in config_map.items))


def _of_container(container: Container) -> Iterable[_Need]:
    for variables in container.env_from:
        for kind, reference in ((ConfigMap, variables.config_map_ref), (Secret, variables.secret_ref)):
            if reference is not None and not reference.optional:
                yield _Need(ConfigReference(kind, reference.name or ""))
    for variable in container.env:
        value = variable.value_from
        if value is None:
            continue
        for kind, selector in ((ConfigMap, value.config_map_key_ref), (Secret, value.secret_key_ref)):
            if selector is not None and not selector.optional:
                yield _Need(ConfigReference(kind, selector.name or ""), (selector.key,))


def _unmounted(need: _Need, keys: Set[str] | None) -> str:
    if keys is None:
        return _absent(need.source)
    key = next((key for key in need.keys if key not in keys), None)
    if key is None:
        return ""
    return f"references non-existent {'secret' if need.source.kind is Secret else 'config'} key: {key}"


def _unset(need: _Need, keys: Set[str] | None, namespace: str) -> str:
    if keys is None:
        return _absent(need.source)
    key = next((key for key in need.keys if key not in keys), None)
    return (
        "" if key is None else f"couldn't find key {key} in {need.source.kind.__name__} {namespace}/{need.source.name}"
    )


def _absent(source: ConfigReference) -> str:
    return f'{source.kind.__name__.lower()} "{source.name}" not found'
