"""The same random requests to an embedded server and a real one, and how their answers differ."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from setpoint.apiserver import ApiServer
from setpoint.client import HttpTransport, InProcessTransport
from setpoint.client.kubeconfig import load_kubeconfig
from setpoint.client.transport import Request, Transport, TransportError
from setpoint.models import BUILTIN

from .explained import explanation
from .mutations import Mutation, applied, mutations, odd_name, status_mutations
from .samples import samples

JsonObject = dict[str, Any]
CLASSES: Final = (
    "accepted-where-refused",
    "refused-where-accepted",
    "code",
    "reason",
    "causes",
    "object",
    "managedFields",
    "warnings",
    "message",
)
"""Of a request's differences the first counts; the first six are those that matter."""
_ODD_NAMES: Final = 0.05
"""The share of new objects whose names are changed, too."""
_STATUSES: Final = 0.2
"""The usual share of requests that write a status, among those about kinds that have one."""
_VOLATILE: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "time",
        "clusterIP",
        "clusterIPs",
        "nodePort",
        "healthCheckNodePort",
    }
)
_WHO_ASKS: Final = frozenset({".spec.username", ".spec.uid", ".spec.groups", ".spec.extra"})
"""Of a signing request."""
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DUMP: Final = re.compile(r"\n@@ .*?(\]?)\Z", re.DOTALL)
"""A Go program's dump of what changed, and the end of a list of errors."""
_ADDRESS: Final = re.compile(r"\b10\.(96|0)\.\d+\.\d+\b")
_VERSION: Final = re.compile(r'(?<=resourceVersion\\":\\")\d+')
"""In what a refusal of a patch quotes."""
_REFERENCE: Final = re.compile(r"kube-api-access-\w{5}")


class Said:
    """One answer."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.warning = headers.get("warning", "")
        try:
            self.body: Any = json.loads(body)
        except ValueError:
            self.body = {"message": body.decode(errors="replace")}

    @property
    def refused(self) -> bool:
        return self.status >= 400

    @property
    def causes(self) -> list[str]:
        causes = (self.body.get("details") or {}).get("causes") or ()
        return sorted({_plain(f"{item.get('field')}: {item.get('reason')}: {item.get('message')}") for item in causes})


class Case:
    """One request: a POST of a changed sample, or a PUT of what a server has, or of its status, changed."""

    def __init__(self, number: int, verb: str, sample: JsonObject, changes: list[Mutation]) -> None:
        self.number, self.verb, self.sample, self.changes = number, verb, sample, changes

    @property
    def where(self) -> str:
        """The changed fields, without positions."""
        return " ".join(".".join(step for step in path if isinstance(step, str)) for _, path, _ in self.changes)


def resource_of(sample: JsonObject) -> Any:
    group, _, version = sample["apiVersion"].rpartition("/")
    return next(item for item in BUILTIN if (item.group, item.version, item.kind) == (group, version, sample["kind"]))


class Differential:
    """``count`` requests made from ``seed``; ``kinds`` restricts them."""

    def __init__(
        self, seed: int, count: int, kinds: tuple[str, ...] = (), *, namespace: str = "", statuses: float = _STATUSES
    ) -> None:
        self._random = Random(seed)
        self._count = count
        self._statuses = statuses
        self._samples = [item for item in samples() if not kinds or item["kind"] in kinds]
        self._namespace = namespace or f"d{secrets.token_hex(4)}"
        self.differences: dict[str, list[tuple[Case, str, Said, Said]]] = defaultdict(list)
        self.explained: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def requests(self) -> Iterator[JsonObject]:
        """The requests of a recording: the namespaces and kept objects, then ``count`` changes, kinds in turn."""
        for name in (self._namespace, f"{self._namespace}-limits"):
            body = {"metadata": {"name": name}}
            yield {"verb": "POST", "kind": "Namespace", "path": "/api/v1/namespaces", "body": body, "kept": True}
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts"
        account = {"metadata": {"name": "default"}}
        yield {"verb": "POST", "kind": "ServiceAccount", "path": path, "body": account, "kept": True}
        kept: dict[int, JsonObject] = {}
        for number, sample in enumerate(self._samples):
            kept[number] = self._named(sample, f"kept-{number}")
            start = {"verb": "POST", "kind": sample["kind"], "path": self._path(sample)}
            yield {**start, "body": kept[number], "kept": True}
        for count in range(self._count):
            number = count % len(self._samples)
            sample = self._samples[number]
            start = {"kind": sample["kind"], "path": self._path(sample)}
            changes = mutations(self._random, sample, resource_of(sample).gvk, 1)
            if count // len(self._samples) % 2:
                yield {**start, "verb": "PUT", "name": kept[number]["metadata"]["name"], "changes": changes}
            else:
                body = applied(self._named(sample, f"try-{count}"), changes)
                yield {**start, "verb": "POST", "body": body}

    async def run(self, kubeconfig: str) -> None:
        real = HttpTransport(load_kubeconfig(kubeconfig))
        try:
            async with ApiServer(plugins_off=()) as server:
                await self._compare_all(real, InProcessTransport(server.handle))
        finally:
            await real.close()

    async def _compare_all(self, *both: Transport) -> None:
        json_objects: dict[int, JsonObject] = {}
        for transport in both:
            for name in (self._namespace, f"{self._namespace}-limits"):
                await self._send(transport, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
            account = {"metadata": {"name": "default"}}
            await self._send(transport, "POST", f"/api/v1/namespaces/{self._namespace}/serviceaccounts", account)
        for number, sample in enumerate(self._samples):
            kept = [
                await self._send(item, "POST", self._path(sample), self._named(sample, f"kept-{number}"))
                for item in both
            ]
            self._note(Case(-1, "POST", sample, []), *kept)
            if not any(answer.refused for answer in kept):
                json_objects[number] = kept[0].body
        for number in range(self._count):
            chosen = self._random.randrange(len(self._samples))
            sample, resource = self._samples[chosen], resource_of(self._samples[chosen])
            many = self._random.choice((1, 1, 1, 2))
            if chosen in json_objects and "status" in resource.subresources and self._random.random() < self._statuses:
                case = Case(
                    number,
                    "PUT status",
                    sample,
                    status_mutations(self._random, json_objects[chosen], resource.gvk, many),
                )
                answers = [
                    await self._put(item, json_objects[chosen]["metadata"]["name"], case, "/status") for item in both
                ]
            elif chosen in json_objects and self._random.random() < 0.4:
                case = Case(number, "PUT", sample, mutations(self._random, json_objects[chosen], resource.gvk, many))
                answers = [await self._put(item, json_objects[chosen]["metadata"]["name"], case) for item in both]
            else:
                case = Case(number, "POST", sample, mutations(self._random, sample, resource.gvk, many))
                body = applied(self._named(sample, f"try-{number}"), case.changes)
                if self._random.random() < _ODD_NAMES and isinstance(body.get("metadata"), dict):
                    body["metadata"]["name"] = odd = odd_name(self._random)
                    case.changes.append(("set", ("metadata", "name"), odd))
                answers = [await self._send(item, "POST", self._path(sample), body, dry_run=True) for item in both]
            self._note(case, *answers)
        for transport in both:
            for number in json_objects:
                name, path = json_objects[number]["metadata"]["name"], self._path(self._samples[number])
                await self._send(transport, "DELETE", f"{path}/{name}")
            for name in (self._namespace, f"{self._namespace}-limits"):
                await self._send(transport, "DELETE", f"/api/v1/namespaces/{name}")

    async def _put(self, transport: Transport, name: str, case: Case, part: str = "") -> Said:
        path = f"{self._path(case.sample)}/{name}"
        body = (await self._send(transport, "GET", path)).body
        if part:
            body.setdefault("status", {})
        return await self._send(transport, "PUT", path + part, applied(body, case.changes), dry_run=True)

    def _path(self, sample: JsonObject) -> str:
        resource = resource_of(sample)
        start = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        limits = "-limits" if sample["kind"] in ("LimitRange", "ResourceQuota") else ""  # where no pods are
        middle = f"/namespaces/{self._namespace}{limits}" if resource.namespaced else ""
        return f"{start}{middle}/{resource.plural}"

    def _named(self, sample: JsonObject, name: str) -> JsonObject:
        document: JsonObject = json.loads(json.dumps(sample).replace("{ns}", self._namespace))
        document.setdefault("metadata", {}).setdefault("name", f"{self._namespace}-{name}")
        return document

    async def _send(
        self, transport: Transport, method: str, path: str, body: Any = None, *, dry_run: bool = False
    ) -> Said:
        headers = {"accept": "application/json", "content-type": "application/json", "user-agent": "setpoint/1"}
        raw = None if body is None else json.dumps(body).encode()
        query = (("dryRun", "All"), ("fieldManager", "d")) if dry_run else (("fieldManager", "d"),)
        query = () if method in ("GET", "DELETE") else query
        try:
            async with transport.send(Request(method, path, query, headers, raw)) as response:
                return Said(response.status, response.headers, await response.read())
        except TransportError as problem:  # some requests make the real server panic, which ends the connection
            return Said(599, {}, json.dumps({"message": str(problem)}).encode())

    def _note(self, case: Case, real: Said, embedded: Said) -> None:
        if real.status == 599:
            return
        self.asked[case.sample["kind"]] += 1
        differences = compare(real, embedded)
        why = explanation(*differences, case.changes) if differences is not None else None
        if why is not None:
            self.explained[why] += 1
        elif differences is not None:
            self.differences[differences[0]].append((case, differences[1], real, embedded))


def _plain(text: str) -> str:
    text = _ADDRESS.sub("<ip>", _REFERENCE.sub("kube-api-access-<5>", _UID.sub("<uid>", text)))
    text = _VERSION.sub("<version>", _DUMP.sub(r"\1", text))
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", text)


def compare(real: Said, embedded: Said) -> tuple[str, str] | None:
    """The class of the first difference, and what it is about; None if there is none."""
    if real.refused != embedded.refused:
        sort = "accepted-where-refused" if real.refused else "refused-where-accepted"
        return sort, str((real if real.refused else embedded).body.get("message"))
    if real.status != embedded.status:
        return "code", f"{real.status} {real.body.get('message')} | {embedded.status} {embedded.body.get('message')}"
    if real.refused:
        if real.body.get("reason") != embedded.body.get("reason"):
            return "reason", f"{real.body.get('reason')} | {embedded.body.get('reason')}"
        ones, others = real.causes, embedded.causes
        if ones != others:
            missing = [f"- {item}" for item in ones if item not in others]
            return "causes", "\n      ".join(missing + [f"+ {item}" for item in others if item not in ones])
        one, other = _plain(str(real.body.get("message"))), _plain(str(embedded.body.get("message")))
        return ("message", f"{one}\n      | {other}") if one != other else None
    places = list(_walk("", real.body, embedded.body))
    ours = [text for path, text in places if "managedFields" not in path]
    if ours:
        return "object", "\n      ".join(ours[:6])
    if places:
        return "managedFields", places[0][1]
    if real.warning != embedded.warning:
        return "warnings", f"{real.warning} | {embedded.warning}"
    return None


def _walk(path: str, one: Any, other: Any) -> list[tuple[str, str]]:
    if isinstance(one, dict) and isinstance(other, dict):
        results: list[tuple[str, str]] = []
        for key in sorted(one.keys() | other.keys()):
            if (key in _VOLATILE and key in one and key in other) or f"{path}.{key}" in _WHO_ASKS:
                continue
            results += _walk(f"{path}.{key}", one.get(key, "<absent>"), other.get(key, "<absent>"))
        return results
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            item for index, pair in enumerate(zip(one, other, strict=True)) for item in _walk(f"{path}[{index}]", *pair)
        ]
    ones, others = _plain(json.dumps(one)), _plain(json.dumps(other))
    return [] if ones == others else [(path, f"{path}: {ones[:160]} | {others[:160]}")]


def report(run: Differential, shown: int) -> str:
    """Shares of each class, then counts by kind and field with an example each."""
    total = run.asked.total()
    lines = [f"{total} requests"]
    if not total:
        return f"{lines[0]}: the real server answered none"
    for name in CLASSES:
        result = run.differences.get(name, [])
        lines.append(f"  {len(result) / total:7.2%} {len(result):5} {name}")
    matter = sum(len(run.differences.get(name, [])) for name in CLASSES[:6])
    lines.append(f"  {matter / total:7.2%} {matter:5} in code, reason, causes or stored object")
    lines += [f"  {many / total:7.2%} {many:5} explained: {why}" for why, many in run.explained.most_common()]
    for name in CLASSES:
        groups: dict[tuple[str, str], list[tuple[Case, str]]] = defaultdict(list)
        for case, text, _, _ in run.differences.get(name, []):
            groups[case.sample["kind"], re.sub(r"try-\d+|d[0-9a-f]{8}", "_", text)[:90]].append((case, text))
        lines.append(f"\n== {name}")
        for (kind, _), cases in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:shown]:
            case, text = cases[0]
            lines.append(
                f"{len(cases):4} {kind} #{case.number} {case.verb} {case.where}: {json.dumps(case.changes)[:200]}"
            )
            lines.append(f"      {text[:900]}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tests.conformance random", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kubeconfig", required=True, help="of a real kube-apiserver without controllers")
    parser.add_argument("--kind", action="append", default=[], help="only these")
    parser.add_argument(
        "--statuses",
        type=float,
        default=_STATUSES,
        help="the share of requests about kinds with a status that write it",
    )
    parser.add_argument("--shown", type=int, default=40, help="how many groups of each class are shown")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write down what it answers instead")
    given = parser.parse_args(arguments)
    if given.record:
        from .recording import record

        asyncio.run(record(given.kubeconfig, given.seed, given.count, given.record))
        return 0
    run = Differential(given.seed, given.count, tuple(given.kind), statuses=given.statuses)
    asyncio.run(run.run(given.kubeconfig))
    print(report(run, given.shown))  # noqa: T201
    return 0
