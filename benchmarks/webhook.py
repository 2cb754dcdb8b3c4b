"""Webhook servers compared: requests per second, latency, and how long a list takes to convert.

    python benchmarks/webhook.py [--seconds 1] [--rounds 7] [--systems setpoint controller-runtime kopf]

One machine, the systems in turns, all asked by the same client over TLS with connections that are kept open, as
API servers do: a defaulting and a validating webhook on an object of 5 KB at concurrency 1 and 16, and a
ConversionReview of 1,000 such objects. Figures are medians of all rounds. Client and server are two processes; CPU
seconds are the server's own. Prints a table and writes benchmarks/.build/results/webhook.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import selectors
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from report import output_options, write
from rich.console import Console
from rich.table import Table

from setpoint.webhook.certificate_authority import issue, make_authority

HERE = Path(__file__).resolve().parent
BUILD = HERE / ".build"
HOST = "127.0.0.1"
TICK = os.sysconf("SC_CLK_TCK")
SYSTEMS = ("setpoint", "controller-runtime", "kopf")
PATHS = {
    "default": "/mutate-bench-example-com-v1alpha2-mykind",
    "validate": "/validate-bench-example-com-v1alpha2-mykind",
    "convert": "/convert",
}
KOPF_PATHS = {"default": "/default", "validate": "/validate"}


def mykind(version: str, name: str = "sample") -> dict[str, Any]:
    """An object of 5 KB: two containers with environment, resources, probes and mounts."""
    containers = [
        {
            "name": f"c{number}",
            "image": f"registry.example.com/team/app-{number}:1.2.3",
            "command": ["/bin/app", "--verbose", "--config=/etc/app/config.yaml"],
            "ports": [{"name": "http", "containerPort": 8080 + number, "protocol": "TCP"}],
            "env": [{"name": f"SETTING_{index}", "value": f"value-of-setting-{index}"} for index in range(26)],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080 + number}, "periodSeconds": 10},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}, {"name": "data", "mountPath": "/var/data"}],
        }
        for number in range(2)
    ]
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "containers": containers,
            "volumes": [{"name": "config", "configMap": {"name": "app"}}, {"name": "data", "emptyDir": {}}],
        },
    }
    return {
        "apiVersion": f"bench.example.com/{version}",
        "kind": "Mykind",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"note": "x" * 600},
        },
        "spec": {("numpods" if version == "v1alpha1" else "replicas"): 3, "template": template},
    }


def admission_review() -> bytes:
    kind = {"group": "bench.example.com", "version": "v1alpha2", "kind": "Mykind"}
    resource = {"group": "bench.example.com", "version": "v1alpha2", "resource": "mykinds"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "sample",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        "object": mykind("v1alpha2"),
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(review, separators=(",", ":")).encode()


def conversion_review(objects: int) -> bytes:
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800003",
        "desiredAPIVersion": "bench.example.com/v1alpha2",
        "objects": [mykind("v1alpha1", f"sample-{number}") for number in range(objects)],
    }
    review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}
    return json.dumps(review, separators=(",", ":")).encode()


class Connection:
    """HTTP/1.1 by hand, on a blocking socket: the client must cost little, since it runs on the same cores."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        plain = socket.create_connection((HOST, port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname=HOST)
        self.pending = b""

    def post(self, path: str, body: bytes) -> bytes:
        self.ask(path, body)
        return self.answer()

    def ask(self, path: str, body: bytes) -> None:
        self.socket.sendall(request_of(path, body))

    def answer(self) -> bytes:
        head = self.until(b"\r\n\r\n").lower()
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(head.decode())
        _, result, length = head.partition(b"content-length:")
        if result:
            return self.exactly(int(length.partition(b"\r\n")[0]))
        chunks = []
        while size := int(self.until(b"\r\n"), 16):
            chunks.append(self.exactly(size))
            self.until(b"\r\n")
        self.until(b"\r\n")
        return b"".join(chunks)

    def until(self, mark: bytes) -> bytes:
        while mark not in self.pending:
            self.receive()
        result, _, self.pending = self.pending.partition(mark)
        return result

    def exactly(self, size: int) -> bytes:
        if len(self.pending) < size:
            parts, have = [self.pending], len(self.pending)
            while have < size:
                self.pending = b""
                self.receive()
                parts.append(self.pending)
                have += len(self.pending)
            self.pending = b"".join(parts)
        pending, self.pending = self.pending[:size], self.pending[size:]
        return pending

    def receive(self) -> None:
        more = self.socket.recv(1 << 20)
        if not more:
            raise RuntimeError("the server closed the connection")
        self.pending += more

    def close(self) -> None:
        self.socket.close()


@lru_cache
def request_of(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path}?timeout=30s HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Server:
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self) -> float:
        """The peak of resident memory in MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def command(system: str, certificates: Path) -> list[str] | str:
    """The command that starts it, or the reason why that is not possible."""
    if system == "setpoint":
        return [sys.executable, str(HERE / "peers" / "setpoint_webhook.py"), str(certificates)]
    if system == "controller-runtime":
        if not shutil.which("go"):
            return "Go is not installed"
        BUILD.mkdir(exist_ok=True)
        binary = BUILD / "webhook"
        subprocess.run(["go", "build", "-o", str(binary), "."], cwd=HERE / "peers" / "go" / "webhook", check=True)
        return [str(binary), str(certificates)]
    python = BUILD / "peers" / "bin" / "python"
    if not python.exists():
        venv.create(BUILD / "peers", with_pip=True)
    if subprocess.run([python, "-c", "import kopf"], check=False, capture_output=True).returncode:
        installed = subprocess.run([python, "-m", "pip", "install", "-q", "kopf"], check=False)
        if installed.returncode:
            return "kopf can't be installed"
    return [str(python), str(HERE / "peers" / "kopf_webhook.py"), str(certificates)]


def load(server: Server, context: ssl.SSLContext, path: str, body: bytes, many: int, seconds: float) -> Any:
    connections = [Connection(server.port, context) for _ in range(many)]
    for connection in connections:
        connection.post(path, body)
    latencies: list[float] = []
    times: dict[Connection, float] = {}
    cpu = server.cpu()
    start = time.perf_counter()
    end = start + seconds
    # One thread for all: sixteen that fight for the interpreter's lock would be slower than the servers.
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            times[connection] = time.perf_counter()
            connection.ask(path, body)
        while times:
            for key, _ in selector.select():
                connection = key.data
                connection.answer()
                now = time.perf_counter()
                latencies.append(now - times.pop(connection))
                if now < end:
                    times[connection] = now
                    connection.ask(path, body)
    elapsed = time.perf_counter() - start
    used = server.cpu() - cpu
    for connection in connections:
        connection.close()
    return {
        "requests_per_second": round(len(latencies) / elapsed, 1),
        "median_ms": round(statistics.median(latencies) * 1000, 3),
        "p99_ms": round(sorted(latencies)[int(len(latencies) * 0.99)] * 1000, 3),
        "cpu_us_per_request": round(used / len(latencies) * 1e6, 1),
    }


def convert(server: Server, context: ssl.SSLContext, body: bytes, rounds: int = 2) -> Any:
    connection = Connection(server.port, context)
    times = []
    cpu = server.cpu()
    for _ in range(rounds):
        before = time.perf_counter()
        answer = connection.post(PATHS["convert"], body)
        times.append(time.perf_counter() - before)
        response = json.loads(answer)["response"]
        assert response["result"]["status"] == "Success", response["result"]
        assert response["convertedObjects"][-1]["spec"]["replicas"] == 3
    connection.close()
    return {
        "median_ms": round(statistics.median(times) * 1000, 1),
        "cpu_ms": round((server.cpu() - cpu) / rounds * 1000, 1),
    }


def checked(system: str, server: Server, context: ssl.SSLContext) -> dict[str, str]:
    """The paths of a server that answers as it should."""
    review = admission_review()
    paths = KOPF_PATHS if system == "kopf" else PATHS
    connection = Connection(server.port, context)
    defaulted = json.loads(connection.post(paths["default"], review))["response"]
    assert defaulted["allowed"], defaulted
    assert defaulted["patchType"] == "JSONPatch", defaulted
    assert json.loads(connection.post(paths["validate"], review))["response"]["allowed"]
    connection.close()
    return paths


def measure(servers: dict[str, Server], context: ssl.SSLContext, seconds: float, rounds: int) -> dict[str, Any]:
    """The median of all rounds of each figure. Systems take turns, so that what else the machine does hits them all."""
    review, many_objects = admission_review(), conversion_review(1000)
    paths = {system: checked(system, server, context) for system, server in servers.items()}
    by_system: dict[str, Any] = {system: {} for system in servers}
    for what, many in (("default", 1), ("default", 16), ("validate", 1), ("validate", 16), ("convert", 1000)):
        taken: dict[str, list[dict[str, float]]] = {system: [] for system in servers if what in paths[system]}
        for _ in range(rounds):
            for system, rows in taken.items():
                if what == "convert":
                    rows.append(convert(servers[system], context, many_objects))
                else:
                    rows.append(load(servers[system], context, paths[system][what], review, many, seconds))
        for system, rows in taken.items():
            by_system[system][f"{what}_{many}"] = {
                figure: statistics.median(row[figure] for row in rows) for figure in rows[0]
            }
    for system, server in servers.items():
        by_system[system]["peak_mib"] = round(server.memory(), 1)
    return by_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each load in each round")
    parser.add_argument("--rounds", type=int, default=7, help="in which the systems take turns")
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    output_options(parser, "webhook")
    options = parser.parse_args()
    now = datetime.now(UTC)
    authority = make_authority("benchmark", now=now, lifetime=timedelta(days=1))
    pair = issue(authority, [HOST, "localhost"], now=now, lifetime=timedelta(hours=12))
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.set_alpn_protocols(["http/1.1"])
    servers: dict[str, Server] = {}
    with tempfile.TemporaryDirectory() as directory:
        certificates = Path(directory)
        (certificates / "tls.crt").write_bytes(pair.certificate)
        (certificates / "tls.key").write_bytes(pair.key)
        try:
            for system in options.systems:
                how = command(system, certificates)
                if isinstance(how, str):
                    print(f"{system}: left out: {how}")
                else:
                    servers[system] = Server(how)
            systems = measure(servers, context, options.seconds, options.rounds)
        finally:
            for server in servers.values():
                server.stop()
    show(systems)
    result = {
        "object_bytes": len(json.dumps(mykind("v1alpha2"), separators=(",", ":"))),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "rounds": options.rounds,
        "systems": systems,
    }
    write(options, "webhook", result, lambda report: {*report["systems"]})


def show(systems: dict[str, Any]) -> None:
    table = Table("", *systems)
    for row in ("default_1", "default_16", "validate_1", "validate_16"):
        for figure in ("requests_per_second", "median_ms", "p99_ms", "cpu_us_per_request"):
            table.add_row(f"{row} {figure}", *(str(system[row][figure]) for system in systems.values()))
    for figure in ("median_ms", "cpu_ms"):
        shown = (
            str(system["convert_1000"][figure]) if "convert_1000" in system else "-" for system in systems.values()
        )
        table.add_row(f"convert_1000 {figure}", *shown)
    table.add_row("peak MiB", *(str(system["peak_mib"]) for system in systems.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
