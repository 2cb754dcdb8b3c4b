"""The ``setpoint`` command. The code of each command is imported only when that command is called."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from setpoint.apps.error_reports import EXIT_STATUSES, reported
from setpoint.cli.security_flags import SecurityFlags
from setpoint.cli.server_flags import ObjectFlags, PlaneFlags

Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]

_DEFAULT_ACCESS = SecurityFlags()
_DEFAULT_PLANE = PlaneFlags()
_DEFAULT_OBJECTS = ObjectFlags()

app = App(
    name="setpoint",
    help="The framework for Kubernetes controllers in Python.",
    help_epilogue=EXIT_STATUSES,
    version=lambda: f"setpoint {version('setpoint')} (Kubernetes 1.37)",
)


@app.command
def server(
    *,
    host: str = "127.0.0.1",
    port: Port = 6443,
    write_kubeconfig: Annotated[Path | None, Parameter(name=["--write-kubeconfig", "--kubeconfig"])] = None,
    objects: ObjectFlags = _DEFAULT_OBJECTS,
    plane: PlaneFlags = _DEFAULT_PLANE,
    ui: Annotated[bool, Parameter(negative="")] = False,
    ui_bind_address: str = "",
    access: SecurityFlags = _DEFAULT_ACCESS,
) -> None:
    """Run the embedded Kubernetes API server in the foreground until Ctrl-C or SIGTERM.

    Parameters
    ----------
    host
        The address to listen on, which must be a loopback address unless --auth is given.
    port
        The port to listen on; 0 picks a free one.
    write_kubeconfig
        Write a kubeconfig for this server to this file, replacing it if it exists. With --write-kubeconfig=- it is the
        standard output, and what the server says is in its comments. No other kubeconfig is changed.
    ui
        Also serve a web page at /ui/, with the objects (those not in their desired state first) and the control
        plane's controllers. The page can't change anything; with --auth it asks for a token.
    ui_bind_address
        The loopback address of the page, HOST:PORT; port 0 picks a free one (default: 127.0.0.1 and the port after
        --port).
    """
    from setpoint.cli.server import copy, serve

    if objects.backup is not None:
        copy(objects.data_dir, objects.backup)
        return
    serve(
        host=host,
        port=port,
        kubeconfig=write_kubeconfig,
        data_dir=objects.data_dir,
        manifests=objects.manifests,
        plane=plane,
        ui=ui_bind_address or (f"127.0.0.1:{min(port + 1, 65535) if port else 0}" if ui else "0"),
        security=access.security(),
    )


@app.command
def envtest(*, install: Path | None = None, controllers: str = "") -> None:
    """Print a directory for KUBEBUILDER_ASSETS, whose kube-apiserver and etcd start the embedded server.

    After export KUBEBUILDER_ASSETS="$(setpoint envtest)", tests that use controller-runtime's envtest, or a similar
    library in another language, run without any change.

    Parameters
    ----------
    install
        Write the programs into this directory instead of the user's cache.
    controllers
        The controllers to run beside each server, as in kube-controller-manager: '*' means all of them. By default
        there are none, as with the real envtest.
    """
    from setpoint.apps.envtest.install import assets
    from setpoint.apps.envtest.install import install as install_into

    names = [name.strip() for name in controllers.split(",") if name.strip()]
    try:
        if install is None:
            install = assets(names)
        else:
            install_into(install, names)
    except OSError as problem:
        raise SystemExit(f"setpoint: can't write the programs: {problem}") from None
    print(install.absolute())  # noqa: T201


app.command(
    "setpoint.cli.webhook:command",
    name="webhook",
    help="""Serve admission and conversion webhooks.

The webhooks of APP are served until Ctrl-C or SIGTERM, over HTTPS, with /healthz and /readyz, by any number of
replicas. Give exactly one of --cert-dir, --service and --url.
""",
)
app.command(
    "setpoint.cli.lint:lint_command",
    name="lint",
    help="""Find mistakes in the source code of an operator. The code is neither imported nor run.

A line with the comment "# setpoint: allow RULE" and a reason is left out.

The exit status is 0 without findings, 1 with some, 2 if the command fails.
""",
)
app.command(
    "setpoint.cli.mcp_command:mcp_command",
    name="mcp",
    help="""Answer the tool calls of an agent, by the Model Context Protocol over standard input and output.

The tools read running operators, a cluster and the project's files; they simulate and check the project, and start a
throw-away cluster. No tool writes to the cluster of the kubeconfig. It needs the extra setpoint[mcp].
""",
)
app.command("setpoint.cli.crd:crd_app", name="crd", help="Compare CustomResourceDefinitions; migrate stored objects.")


@app.command
def init(
    name: str,
    *,
    group: str | None = None,
    kind: str | None = None,
    version: str = "v1alpha1",
    scope: Literal["Namespaced", "Cluster"] = "Namespaced",
    source: Annotated[tuple[Literal["kopf"], Path] | None, Parameter(name="--from", negative="")] = None,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Make a project for an operator: types, a controller, tests, an image, deploy/, CI.

    Running it again changes nothing, and no file of yours is overwritten without --force.

    Parameters
    ----------
    name
        The project's name and folder, such as shop.
    group
        The API group of the project's kinds, a domain name that you own; default: NAME.example.com.
    kind
        The first kind; default: the name in CamelCase.
    version
        The first kind's version.
    scope
        The first kind's scope: Cluster, for objects that are in no namespace.
    source
        kopf FILE: port a kopf operator; its handlers become comments where their code belongs.
    force
        Overwrite existing files that have different contents, and say which.
    """
    from setpoint.cli.init import init as make

    make(name, group=group, kind=kind, version=version, scope=scope, source=source, force=force)


app.command(
    "setpoint.cli.init:create_app", name="create", help="Add kinds, webhooks or versions to a project of setpoint init."
)
app.command(
    "setpoint.cli.init:update_command",
    name="update",
    help="""Update the project in this folder to the files that setpoint init of this version creates.

Files without changes of yours are replaced, others are merged line by line. Conflicts are marked as git marks them, and
then the exit status is 1. Everything must be committed before.
""",
)


@app.command
def rbac(
    app: str,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    role: Path | None = None,
    requests: Path | None = None,
    strict: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"])] = "text",
    option: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = (),
) -> int:
    """Compare the permissions that a program declares, those that its tests request, and those that a role grants.

    The exit status is 0 if nothing is missing, 1 if something is, 2 if the command fails.

    Parameters
    ----------
    app
        A file (app.py), a package's folder or a module, with Controllers and Admissions as globals.
    command
        After --: the tests to run, such as python -m pytest. The requests that controllers make in clusters of
        sp.testing.cluster and sp.simulation are recorded.
    role
        A YAML file, or a folder of them, with the roles to compare with. If it has bindings, only bound roles count.
    requests
        Add the recorded requests to this file, and compare with all requests in it, so that tests can run in parts.
    strict
        Also return 1 if there are permissions that are never used.
    output
        text, or json for one object with four lists of permissions.
    option
        An option of the program, NAME=VALUE, if its controllers are made of options. Repeatable.
    """
    from setpoint.cli.rbac import rbac as compare

    return compare(app, command, role=role, requests=requests, strict=strict, output=output, options=option)


@app.command
def explain(
    kind: str,
    key: str,
    *,
    address: Annotated[list[str] | None, Parameter(name=["--address", "-a"], negative_iterable="")] = None,
    token_file: Path | None = None,
    ca_file: Path | None = None,
) -> None:
    """Ask a running controller why an object does not converge: its state, its last reconciles, the next attempt.

    Parameters
    ----------
    kind
        The kind (pod, pods, po), or the name of a controller.
    key
        NAMESPACE/NAME, or NAME for kinds without namespaces.
    address
        The address of the process's metrics server (default: http://127.0.0.1:8080); repeat it for each replica.
    token_file
        A file with the bearer token to send, for processes that require one (kubectl create token ... > FILE).
    ca_file
        With https: the CA certificates to trust, instead of the system's.
    """
    from setpoint.cli.explain import explain as ask

    ask(kind=kind, key=key, addresses=address or ["http://127.0.0.1:8080"], token_file=token_file, ca_file=ca_file)


@app.command
def top(
    *,
    address: Annotated[list[str] | None, Parameter(name=["--address", "-a"], negative_iterable="")] = None,
    find: str = "",
    state: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    every: Annotated[float, Parameter(validator=Number(gte=0.1, lte=3600))] = 2.0,
    once: Annotated[bool, Parameter(negative="")] = False,
    token_file: Path | None = None,
    ca_file: Path | None = None,
) -> None:
    """Watch a running operator: its queues, workers and caches, and the objects that need attention first.

    On a terminal the display is updated until Ctrl-C. Elsewhere the state is printed once, as plain lines.

    Parameters
    ----------
    address
        The address of the process's metrics server (default: http://127.0.0.1:8080); repeat it for each replica.
    find
        Show only objects whose NAMESPACE/NAME contains all these words.
    state
        Show only objects in this state, such as "backing off" or failed; repeatable.
    every
        Seconds between two updates.
    once
        Print once, even on a terminal.
    token_file
        A file with the bearer token to send, for processes that require one (kubectl create token ... > FILE).
    ca_file
        With https: the CA certificates to trust, instead of the system's.
    """
    from setpoint.cli.debug_client import USUAL
    from setpoint.cli.top import top as watch

    watch(
        addresses=address or [USUAL],
        find=find,
        states=state or [],
        every=every,
        once=once,
        token_file=token_file,
        ca_file=ca_file,
    )


app.command(
    "setpoint.cli.interventions:pause",
    name="pause",
    help="Stop the reconciles of one object, or of a whole controller (pause controller NAME), until resume.",
)
app.command(
    "setpoint.cli.interventions:resume",
    name="resume",
    help="Resume the reconciles of an object or a controller that was paused.",
)
app.command(
    "setpoint.cli.interventions:step_down",
    name="step-down",
    help="Ask the leader of an election to finish its reconciles and to hand over; it continues as a standby.",
)
app.command(
    "setpoint.cli.interventions:reconcile",
    name="reconcile",
    help="Request a reconcile of one object now: before all others, and even if the object waits for its next retry.",
)


@app.command
def record(
    *kinds: str,
    out: Path,
    kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None,
    context: str | None = None,
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    redact: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    max_size: Annotated[int, Parameter(validator=Number(gte=1))] = 100,
) -> None:
    """Record the changes in a live cluster until Ctrl-C, for simulate --from to replay.

    Values of Secrets are replaced by stand-ins, equal values by equal ones. An existing recording is continued. You
    need permission to list and watch the kinds.

    Parameters
    ----------
    kinds
        The kinds to record, as in kubectl get: pods, deployments.apps, mykinds.example.com.
    out
        The file to write. FILE.key beside it is needed to continue the recording; keep it secret.
    kubeconfig
        The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
    context
        The kubeconfig's context to use.
    namespace
        Record only the objects in this namespace.
    redact
        Further values to replace, such as "configmaps data.password" or "* spec.token"; repeatable.
    max_size
        The size of the file, in megabytes, at which the recording ends.
    """
    from setpoint.cli.record import record as run

    run(
        kinds,
        out=out,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
        redact=redact or [],
        most=max_size * 1_000_000,
    )


app.command(
    "setpoint.cli.torture_command:torture_command",
    name="torture",
    help="""Run a controller, written in any language, under the faults of a real cluster: crashes, lost answers, late
watches.

For each fault the program is started with a fresh embedded server, the scenario's users act, and the final state is
compared with that of an undisturbed run. Each finding is tried again several times, to see how often it occurs.

The exit status is 0 without findings, 1 with one, 2 if the command fails.
""",
)


@app.command
def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script with which a shell completes this command's names and flags.

    For bash, add to ~/.bashrc: source <(setpoint completion bash). For zsh and fish, write the script to a file that
    the shell reads: a file _setpoint in a folder of fpath, or ~/.config/fish/completions/setpoint.fish.

    Parameters
    ----------
    shell
        The shell.
    """
    print(app.generate_completion(shell=shell))  # noqa: T201


def main() -> None:
    """Runs the ``setpoint`` command with the arguments of the process. The console script calls it by way of
    `setpoint.starting`.
    """
    with reported("setpoint"):
        app(sys.argv[1:])
