"""The ``setpoint`` command. Each command's code is loaded when it is called."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]

app = App(
    name="setpoint",
    help="The framework for Kubernetes controllers in Python.",
    version=lambda: f"setpoint {version('setpoint')} (Kubernetes 1.37)",
)


@app.command
def server(
    *,
    host: str = "127.0.0.1",
    port: Port = 6443,
    kubeconfig: Path | None = None,
    data_dir: Path | None = None,
    control_plane: Annotated[bool, Parameter(negative="--no-control-plane")] = True,
) -> None:
    """Run the embedded Kubernetes API server in the foreground until Ctrl-C or SIGTERM.

    Parameters
    ----------
    host
        The address to listen on; a loopback one, since nobody is authenticated.
    port
        The port to listen on; 0 picks a free one.
    kubeconfig
        Write a kubeconfig for this server to FILE (replaced if it is there). Nothing else is ever touched.
    data_dir
        Keep the objects in this directory (SQLite). Without it they are in memory and go with the process.
    control_plane
        Also run the garbage collector, the namespace lifecycle and a hollow node on which pods become Running.
    """
    from setpoint.cli.server import serve

    serve(host=host, port=port, kubeconfig=kubeconfig, data_dir=data_dir, control_plane=control_plane)


app.command("setpoint.cli.webhook:command", name="webhook", help="Serve admission and conversion webhooks.")
app.command("setpoint.cli.crd:crd_app", name="crd", help="Compare CustomResourceDefinitions; migrate stored objects.")


@app.command
def explain(
    kind: str,
    key: str,
    *,
    address: Annotated[list[str] | None, Parameter(name=["--address", "-a"], negative_iterable="")] = None,
    token_file: Path | None = None,
    ca_file: Path | None = None,
) -> None:
    """Ask a running controller why an object does not move: its state, its last reconciles, and what is next.

    Parameters
    ----------
    kind
        The kind (pod, pods, po), or the name of a controller.
    key
        NAMESPACE/NAME, or NAME alone for kinds without namespaces.
    address
        Where the controller's process serves its metrics, default http://127.0.0.1:8080; once for every replica.
    token_file
        A file with the bearer token to send, for processes that ask for one (kubectl create token ... > FILE).
    ca_file
        With https: the certificates to trust, instead of the system's.
    """
    from setpoint.cli.explain import explain as ask

    ask(kind=kind, key=key, addresses=address or ["http://127.0.0.1:8080"], token_file=token_file, ca_file=ca_file)


def main() -> None:
    """Entry point of the console script."""
    from setpoint.apps.failures import reported

    with reported("setpoint"):
        app(sys.argv[1:])
