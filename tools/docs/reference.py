"""Reference: tables of metrics, flags, environment variables, labels, conditions and events, generated from the code.

``python -m tools.docs.reference`` writes them to ``docs/reference``; ``--check`` writes nothing and exits 1 if a page
differs. Names come from the code alone. Where the code has no sentence about one, the sentence is here; a name without
a sentence, or a sentence without a name, is an error.
"""

from __future__ import annotations

import argparse
import ast
import functools
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.docs.navigation import DOCS, ROOT

SOURCE = ROOT / "src" / "setpoint"
MADE = "Generated from the code by `make models`.\n"

ENVIRONMENT = {
    "KUBECONFIG": "the kubeconfig files to use, separated by colons; the first value of a name counts",
    "HOME": "where `.kube/config` is looked for; `USERPROFILE` on Windows",
    "USERPROFILE": "see `HOME`",
    "KUBERNETES_SERVICE_HOST": "set in pods: the API server's address; clients use it, with the files of the service "
    "account, where they find no kubeconfig",
    "KUBERNETES_SERVICE_PORT": "set in pods: the API server's port",
    "SSLKEYLOGFILE": "a file to which the keys of TLS connections are added, for programs that read recorded traffic",
    "HTTPS_PROXY": "the proxy for HTTPS API servers; also in lower case",
    "HTTP_PROXY": "the proxy for plain HTTP; also in lower case",
    "NO_PROXY": "hosts and networks that are reached directly; also in lower case",
    "XDG_STATE_HOME": "where `setpoint crd migrate` keeps how far it came; default `~/.local/state`",
    "XDG_CACHE_HOME": "where `setpoint envtest` keeps its programs; default `~/.cache`",
    "OTEL_METRIC_EXPORT_INTERVAL": "with `--otlp`: milliseconds between two exports of metrics; default 60000",
    "OTEL_SERVICE_NAME": "with `--otlp`: the name of the program; default that of its objects",
    "OTEL_RESOURCE_ATTRIBUTES": "with `--otlp`: attributes of the process, such as `service.instance.id=a,b=c`",
    "PATH": "where `setpoint envtest` looks for its own command",
    "PYTEST_XDIST_WORKER_COUNT": "set by pytest-xdist: a search of the simulation takes its share of the cores",
    "SETPOINT_REPLAY": "a token of a simulation's report: `sp.simulation.check` replays only that",
    "SETPOINT_ACCESS_RECORD": "set by `setpoint rbac` for its command: the file of the permissions asked for",
    "SETPOINT_CHILD_PROCESS": "set by `run --processes` for its child processes",
}
LABELS = {
    "sharding.setpoint.io/group": "label of the Leases of the processes that share a controller's objects",
    "sharding.setpoint.io/members": "annotation of such a Lease: the members that this process reckons with",
    "sharding.setpoint.io/controllers": "annotation of such a Lease: the names of the process's controllers",
    "fleet.setpoint.io/cluster": "label of a Secret with a kubeconfig: the name of a fleet's cluster",
    "webhook.setpoint.io/in-force": "annotation of the dry run by which `setpoint webhook` sees whether API servers "
    "call it",
    "rehearsal.setpoint.io/configmap": "finalizer that rehearsals in the simulation use",
}
EVENTS = {
    (
        "controller/run/activity_records.py",
        "reason",
    ): "a reconcile failed, such as `InvalidObject`, `StatusNotServed`; the message is that of the condition",
    ("controller/defaulting_and_validation.py", "'ValidationWarning'"): "a check (`Controller.validates`) has warned",
    ("controller/run/reconciler.py", "'DeletionPaused'"): "the deletion of a paused object waits until it is resumed",
    ("manager/lifecycle.py", "'LeaderElection'"): "a process became the leader, or stopped leading; about the Lease",
}


def metrics() -> str:
    """The table of what ``/metrics`` serves."""
    from setpoint.manager import ProcessMetrics
    from setpoint.manager.loop_watchdog import LoopWatch
    from setpoint.webhook import WebhookMetrics

    served = ProcessMetrics()
    served.add_fleet([])
    WebhookMetrics(served.registry)
    LoopWatch(1.0, lambda _task: "", registry=served.registry)
    rows = []
    for family in served.registry.collect():
        labels = ", ".join(f"`{name}`" for name in getattr(family, "_labelnames", ()))
        suffix = "_total" if family.type == "counter" else ""
        rows.append((f"`{family.name}{suffix}`", family.type, labels, family.documentation.rstrip(".")))
    rows.append(
        ("`setpoint_process_up`", "gauge", "`process`", "With `--processes`: 1 if the process answered, 0 if not")
    )
    table = _table(("metric", "type", "labels", "meaning"), sorted(rows))
    return f"""# Metrics

`run --metrics-bind-address :8080` serves these at `/metrics`, together with [your own](../howto/metrics-and-traces.md),
and with the process's memory, CPU time and file descriptors. Names that controller-runtime and client-go have are
theirs, so their dashboards work. {MADE}
{table}
In a fleet the controller of one cluster is called `NAME@CLUSTER`. A histogram also has `_bucket`, `_sum` and `_count`.
"""


def commands() -> str:
    """The commands and their flags."""
    import setpoint as sp
    from setpoint.apps.error_reports import EXIT_STATUSES
    from setpoint.cli.main import app
    from setpoint.cli.program import program
    from setpoint.models.core_v1 import ConfigMap

    async def reconcile(_settings: ConfigMap, _ctx: sp.Context) -> None: ...

    own = program("program.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    parts = [
        "# Commands and flags\n\n`program.py` stands for a program of [`sp.main`](../programs.md). "
        f"{EXIT_STATUSES}\n{MADE}"
    ]
    for path, command in [*_commands("program.py", own), *_commands("setpoint", app)]:
        rows = []
        for argument in command.assemble_argument_collection(parse_docstring=True):
            if not argument.show or not argument.names:
                continue
            names = [name for name in argument.names if not name.startswith("--no-")] or list(argument.names)
            default = argument.field_info.default
            hidden = default is None or default is False or default is argument.field_info.empty or default in ("", ())
            default_text = "" if hidden else f"`{default}`"
            rows.append(
                (", ".join(f"`{name}`" for name in names), default_text, _sentence(argument.parameter.help or ""))
            )
        description = _sentence(re.split(r"\n\s*Parameters\n", command.help or "")[0])
        parts.append(f"## {path}\n\n{description}\n\n{_table(('flag', 'default', 'meaning'), rows) if rows else ''}")
    return "\n".join(parts)


def _commands(path: str, app: Any) -> Iterator[tuple[str, Any]]:
    inner = {name: app[name] for name in app if not name.startswith("-")}
    if not inner:
        yield path, app
    for name, command in sorted(inner.items()):
        yield from _commands(f"{path} {name}", command)


def environment() -> str:
    """The table of environment variables."""
    variables = {name.upper() for _, tree in _sources() for name in _variables(tree)}
    _complete("environment variable", variables, ENVIRONMENT)
    rows = [(f"`{name}`", meaning) for name, meaning in sorted(ENVIRONMENT.items())]
    return f"""# Environment variables

A program of `sp.main` reads its [flags](commands.md), each of which has a variable: `SETPOINT_LEADER_ELECT` for
`--leader-elect` ([options](../programs.md#options)). These variables are read beside them, most of them by every
Kubernetes client. {MADE}
{_table(("variable", "meaning"), rows)}"""


def _variables(tree: ast.Module) -> Iterator[str]:
    """Names given to ``environ.get``, to ``environ[...]``, or assigned to a constant that is used there."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }
    for node in ast.walk(tree):
        name: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            if ast.unparse(node.func.value).endswith("environ") and node.args:
                name = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            name = node.slice
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value
        elif isinstance(name, ast.Name) and name.id in constants:
            yield constants[name.id]
        elif isinstance(name, ast.Name):  # the proxy's variable has one name for each scheme
            yield from ("HTTP_PROXY", "HTTPS_PROXY") if name.id == "name" else ()


def names() -> str:
    """The labels, annotations, conditions and events that setpoint itself writes or reads."""
    pattern = re.compile(r"^[a-z.]*setpoint\.(?:io|dev)(?:/[A-Za-z0-9/_.-]*)?$")
    meanings = dict(LABELS)
    used = set[str]()
    reasons = dict[tuple[str, str], str]()
    for file, tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and pattern.match(node.value):
                used.add(node.value)
        for before, after in itertools.pairwise(tree.body):
            name = getattr(getattr(before, "value", None), "value", None)  # of a constant with a docstring
            text = getattr(getattr(after, "value", None), "value", None)
            if isinstance(name, str) and isinstance(text, str) and pattern.match(name):
                meanings.setdefault(name, _sentence(text).replace("``", "`"))
        if file.startswith(("controller/", "manager/")):
            reasons |= {(file, reason): kind for reason, kind in _events(tree)}
    _complete("label or annotation", used, meanings)
    _complete("event", set(reasons), EVENTS)
    labels = _table(("name", "meaning"), [(f"`{name}`", meanings[name].rstrip(".")) for name in sorted(used)])
    events = _table(
        ("reason", "type", "when"),
        [
            (
                f"`{reason.strip(chr(39))}`" if reason.startswith("'") else "the error's name",
                reasons[file, reason],
                text,
            )
            for (file, reason), text in EVENTS.items()
        ],
    )
    return f"""# Labels, annotations, conditions and events

These are the names that setpoint itself uses on objects. {MADE}
## Labels and annotations

{labels}
Three more are made from your names: the finalizer `GROUP/CONTROLLER` of `Controller.finalize`, the annotation
`GROUP/conversion` with the values that an [older version](../crd.md#several-versions) can't hold, and the field
manager, which is the controller's name with its API group.

## Conditions

| condition | status | reason | when |
|---|---|---|---|
| `Reconciled`, or `CONTROLLER.GROUP/Reconciled` for a controller that is not named after its kind | `False` | the \
error's name | the last reconcile failed; the next success removes it ([status](../concepts.md#status)) |
| `Reconciling`, `Stalled` | `True` | `ReconcileFailed` | beside `Reconciled`: there will be a further attempt, or \
none without a change |

All others are your own (`ctx.set_condition`).

## Events

{events}
All others are your own (`ctx.event`).
"""


def _events(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "event":
            arguments = [ast.unparse(argument) for argument in node.args]
            kinds = [number for number, argument in enumerate(arguments) if argument in ("'Warning'", "'Normal'")]
            if kinds and len(arguments) > kinds[0] + 1:
                yield arguments[kinds[0] + 1], arguments[kinds[0]].strip("'")


@functools.cache
def _sources() -> list[tuple[str, ast.Module]]:
    """The files whose text can have one of the names, and their trees."""
    words = ("environ", "setpoint.io", "setpoint.dev", ".event(")
    trees = []
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if not name.startswith(("models/", "scaffold/templates/", "torture/program")):
            text = file.read_text("utf-8")
            if any(word in text for word in words):
                trees.append((name, ast.parse(text)))
    return trees


def _complete(table: str, used: set[Any], meanings: dict[Any, str]) -> None:
    if missing := used - meanings.keys():
        raise SystemExit(f"tools/docs/reference.py has no sentence for the {table} {sorted(missing)}")
    if surplus := meanings.keys() - used:
        raise SystemExit(
            f"tools/docs/reference.py has a sentence for a {table} that is not in the code: {sorted(surplus)}"
        )


def _sentence(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def pages() -> dict[Path, str]:
    """The pages by their files."""
    folder = DOCS / "reference"
    return {
        folder / "metrics.md": metrics(),
        folder / "commands.md": commands(),
        folder / "environment.md": environment(),
        folder / "names.md": names(),
    }


def main() -> int:
    """Writes or checks the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    files = pages()
    old = [path for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in old:
        if options.check:
            print(f"{path.relative_to(ROOT)} is out of date: run `make models`")
        else:
            path.write_text(files[path], "utf-8")
    return bool(old and options.check)


if __name__ == "__main__":
    sys.exit(main())
