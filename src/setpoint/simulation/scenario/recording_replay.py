"""Recording: turns the changes that were recorded in a cluster into a scenario, which shows whether controllers would
have survived the actions of other users and programs there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from setpoint.client import ApiError
from setpoint.controller import Controller, watched_kinds
from setpoint.meta import Resource, resource_of
from setpoint.simulation.scenario.simulation_options import Scenario
from setpoint.testing.clusters import Cluster

_FORMATS: Final = "setpoint-recording/"
FORMAT: Final = f"{_FORMATS}1"
STEPS: Final = 30
"""The maximum number of steps of a scenario. The longest pauses of the recording become the waits between them."""
_TOGETHER: Final = 1.0
"""Changes that are less than this number of seconds apart belong to one step."""
_CLUSTERS_OWN: Final = frozenset({"kube-controller-manager", "kube-scheduler", "kubelet", "kube-apiserver"})
_EVERYWHERE: Final = frozenset({("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")})
"""Objects that every cluster makes in every namespace, each as a collection and a name."""
_WORKLOADS: Final = ("apps/", "batch/")
_GIVEN: Final = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink", "deletionTimestamp",
     "deletionGracePeriodSeconds"}
)  # fmt: skip


class RecordingError(Exception):
    """A file is not a recording or can't be used; the message says why."""


class Recorded(msgspec.Struct, frozen=True):
    """One recorded change."""

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    type: str
    collection: str
    key: str
    object: dict[str, Any]

    @property
    def metadata(self) -> Mapping[str, Any]:
        metadata: Mapping[str, Any] = self.object["metadata"]
        return metadata

    @property
    def author(self) -> tuple[str, str]:
        """The field manager that wrote the object last, and the subresource that it wrote; each is ``""`` if it is
        unknown.
        """
        entries = self.metadata.get("managedFields") or ()
        newest: Mapping[str, Any] = max(entries, key=lambda entry: str(entry.get("time", "")), default={})
        return str(newest.get("manager", "")), str(newest.get("subresource", ""))

    @property
    def maker(self) -> str:
        """The field manager that created the object; ``""`` if that is unknown."""
        entries = [entry for entry in self.metadata.get("managedFields") or () if not entry.get("subresource")]
        oldest: Mapping[str, Any] = min(entries, key=lambda entry: str(entry.get("time", "")), default={})
        return str(oldest.get("manager", ""))


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    managed_fields: list[dict[str, Any]] | None = None
    owner_references: list[dict[str, Any]] | None = None


class _Gone(msgspec.Struct):
    """The fields of a recorded deletion that this module relies on. If the deletion was not watched, only the name is
    known.
    """

    metadata: _Metadata


class _Document(_Gone, rename="camel"):
    """The fields of a recorded object that this module relies on."""

    api_version: str
    kind: str


_read = msgspec.json.Decoder(Recorded).decode


def _line(raw: bytes) -> Recorded:
    change = _read(raw)
    msgspec.convert(change.object, _Gone if change.type == "DELETED" else _Document)
    return change


def _check_head(path: Path, raw: bytes) -> None:
    version = str(msgspec.json.decode(raw).get("format"))
    if version.startswith(_FORMATS) and version != FORMAT:
        raise RecordingError(
            f"{path} was written by another version of setpoint: its format is {version}, and this version reads "
            f"{FORMAT}"
        )
    if version != FORMAT:
        raise ValueError


def read_lines(path: Path) -> Iterator[tuple[Recorded | None, int]]:
    """The changes in the file, each with the offset at which its line ends. The first line, the header, yields None in
    place of a change; a last line that was cut off is left out.

    Raises:
        RecordingError: the file is not a recording.
        OSError: the file can't be read.
    """
    end = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                return
            end += len(raw)
            try:
                if number == 1:
                    _check_head(path, raw)
                    yield None, end
                else:
                    yield _line(raw), end
            except (msgspec.MsgspecError, ValueError, AttributeError):
                raise RecordingError(f"{path}: line {number} was not written by setpoint record") from None


class Recording:
    """A file that `setpoint record` has written.

    ```python
    recording = sp.simulation.Recording("tuesday.jsonl")
    sp.simulation.check(recording.scenario([make_controller()]), lambda: [make_controller()])
    ```

    Raises:
        RecordingError: the file is not a recording.
        OSError: the file can't be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        lines = [line for line, _ in read_lines(self.path)]
        if not lines:
            raise RecordingError(f"{self.path}: the file is empty")
        self.changes = [line for line in lines if line is not None]

    def scenario(self, controllers: Sequence[Controller[Any]], *, mine: Collection[str] = ()) -> Scenario:
        """The actions of other users and programs, at their recorded times, as a scenario.

        The scenario leaves out the work of ``controllers``: objects that are owned by an object of a kind that they
        reconcile, the statuses of objects of these kinds, changes by the field managers in ``mine``, and objects of
        other kinds that these field managers created. The names of the controllers are added to ``mine``. Deletions of
        objects in the scenario are always included. The scenario also leaves out the work of every cluster's own
        programs (pods of workloads, statuses written by kubelets), since the embedded cluster does the same work.

        Raises:
            RecordingError: the recording has no actions of other users or programs, or no object of a kind that
                ``controllers`` watch.
        """
        watched = {str(resource_of(kind).group_resource) for kind in watched_kinds(controllers)}
        collections = {change.collection for change in self.changes}
        if collections and not watched & collections:
            raise RecordingError(
                f"{self.path}: the recording has {', '.join(sorted(collections))}, but the controllers watch "
                f"{', '.join(sorted(watched))}: record these kinds"
            )
        owners = {(controller.resource.group, controller.resource.kind) for controller in controllers}
        selection = _Selection(owners, {*mine, *(controller.name for controller in controllers)})
        changes = [change for change in self.changes if selection.wants(change)]
        if not changes:
            raise RecordingError(f"{self.path}: the recording has no changes by other users or programs")
        rests = _rests(changes)

        async def recorded(cluster: Cluster) -> None:
            player = _Player(cluster, owners)
            before = changes[0].at
            for number, change in enumerate(changes):
                if number in rests:
                    await cluster.settle()
                pause = (change.at - before).total_seconds()
                if pause > 0:
                    await asyncio.sleep(pause)
                before = max(before, change.at)
                await player.play(change)
            await cluster.settle()

        recorded.__qualname__ = f"recorded in {self.path.name}"
        return recorded


class _Selection:
    """Decides which recorded changes the scenario repeats: those of other users and programs, but not those of the
    controllers under test or of the programs that every cluster has.
    """

    def __init__(self, owners: set[tuple[str, str]], mine: set[str]) -> None:
        self._owners = owners
        self._mine = mine
        self._desired_states: dict[tuple[str, str], Any] = {}

    def wants(self, change: Recorded) -> bool:
        place = change.collection, change.key
        if (change.collection, change.key.rpartition("/")[2]) in _EVERYWHERE:
            return False
        if change.type == "DELETED":
            return self._desired_states.pop(place, None) is not None
        if self._is_made(change.metadata.get("ownerReferences") or ()):
            return False
        manager, subresource = change.author
        desired = _desired(change.object, with_status=not self._is_own(change))
        if place in self._desired_states:
            before, self._desired_states[place] = self._desired_states[place], desired
            theirs = manager in self._mine or (subresource == "status" and manager in _CLUSTERS_OWN)
            return desired != before and not theirs
        if change.maker in self._mine | _CLUSTERS_OWN and not self._is_own(change):
            return False
        self._desired_states[place] = desired
        return True

    def _is_own(self, change: Recorded) -> bool:
        """Whether the controllers are responsible for the object's kind, so that they own its status."""
        return (change.object.get("apiVersion", "").rpartition("/")[0], change.object.get("kind")) in self._owners

    def _is_made(self, references: Iterable[Mapping[str, Any]]) -> bool:
        return any(
            (str(reference.get("apiVersion", "")).rpartition("/")[0], reference.get("kind")) in self._owners
            or (reference.get("controller") and str(reference.get("apiVersion", "")).startswith(_WORKLOADS))
            for reference in references
        )


class _Player:
    """Repeats recorded changes in a cluster."""

    def __init__(self, cluster: Cluster, owners: set[tuple[str, str]]) -> None:
        self._client = cluster.client
        self._owners = owners
        self._uids: dict[str, str] = {}
        self._served: dict[str, Resource] = {}
        self._spaces = {"default", "kube-system", "kube-public", "kube-node-lease"}

    async def play(self, change: Recorded) -> None:
        document = change.object
        space, _, name = change.key.rpartition("/")
        if change.type == "DELETED":
            path = await self._path(change, space)
            if path is not None:
                await self._quietly("DELETE", f"{path}/{name}", None)
            return
        path = await self._path(change, space)
        if path is None:
            return
        if space and space not in self._spaces:
            self._spaces.add(space)
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            await self._quietly("POST", "/api/v1/namespaces", body)
        own = (document["apiVersion"].rpartition("/")[0], document["kind"]) in self._owners
        desired = _desired(document, with_status=not own)
        desired["metadata"] |= {"name": name, **({"namespace": space} if space else {})}
        if references := self._references(document):
            desired["metadata"]["ownerReferences"] = references
        status = desired.pop("status", None)
        current = None if change.type == "MODIFIED" else await self._quietly("POST", path, desired)
        if current is None:
            stored = await self._quietly("GET", f"{path}/{name}", None)
            if stored is None:
                return
            finalizers = stored["metadata"].get("finalizers")
            own_metadata = {"finalizers": finalizers} if own and finalizers else {}
            desired["metadata"] |= {"resourceVersion": stored["metadata"]["resourceVersion"], **own_metadata}
            current = await self._quietly("PUT", f"{path}/{name}", {**stored, **desired}) or stored
        self._uids[document["metadata"].get("uid", "")] = current["metadata"]["uid"]
        if status and current.get("status") != status:
            await self._quietly("PATCH", f"{path}/{name}/status", {"status": status})

    async def _path(self, change: Recorded, space: str) -> str | None:
        """The path of the collection; None if the cluster does not serve the kind."""
        if change.collection not in self._served:
            served = await self._client.rest_mapper.refresh()
            self._served = {str(resource.group_resource): resource for resource in served.resources}
        resource = self._served.get(change.collection)
        return resource.path(namespace=space) if resource is not None else None

    def _references(self, document: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The owner references whose owners exist, with the uids that the owners have in this cluster."""
        return [
            {**reference, "uid": self._uids[reference["uid"]]}
            for reference in document["metadata"].get("ownerReferences") or ()
            if reference.get("uid") in self._uids
        ]

    async def _quietly(self, method: str, path: str, body: Any) -> Any:
        """The server's decoded answer; None if the server refuses the request. This cluster may refuse what the
        recorded one allowed.
        """
        raw = None if body is None else msgspec.json.encode(body)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            return msgspec.json.decode(await self._client.request(method, path, body=raw, content_type=kind))
        except ApiError:
            return None


def _desired(document: Mapping[str, Any], *, with_status: bool) -> dict[str, Any]:
    """The object without its owner references and the fields that the server sets; without ``with_status``, its
    finalizers and its status are left out, too.
    """
    meta = {name: value for name, value in document["metadata"].items() if name not in _GIVEN}
    meta.pop("ownerReferences", None)
    if not with_status:
        meta.pop("finalizers", None)
    desired = {name: value for name, value in document.items() if with_status or name != "status"}
    return {**desired, "metadata": meta}


def _rests(changes: Sequence[Recorded]) -> frozenset[int]:
    """The indexes of the changes before which the scenario waits for everything to settle: the changes after the
    longest pauses.
    """
    pauses = [
        ((later.at - earlier.at).total_seconds(), number)
        for number, (earlier, later) in enumerate(pairwise(changes), 1)
    ]
    longest = sorted((pause for pause in pauses if pause[0] >= _TOGETHER), reverse=True)[: STEPS - 1]
    return frozenset(number for _, number in longest)
