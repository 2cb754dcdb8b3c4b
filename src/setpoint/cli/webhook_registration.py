"""``setpoint webhook manifests``, ``install`` and ``uninstall``: register webhooks with API servers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from setpoint.apps.error_reports import UsageError, reported
from setpoint.cli.default_names import webhook_name
from setpoint.cli.program_declarations import served_by
from setpoint.cli.program_loader import SourceError, loaded
from setpoint.cli.program_options import OptionValues
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.deploy.crds import definitions_of
from setpoint.meta.text_escaping import visible
from setpoint.meta.yaml_text import to_yaml
from setpoint.trust import certificates_in, without_mark
from setpoint.webhook import (
    AdmissionError,
    CertificateError,
    NotInForce,
    ServiceTarget,
    UrlTarget,
    configurations,
    install,
    uninstall,
)
from setpoint.webhook.installation import generated_samples
from setpoint.webhook.registration import TargetError, converters_of

PROGRAM = "setpoint webhook"
FIELD_MANAGER = "setpoint-webhook"
DEFAULT_CLUSTER: Final = KubeconfigFlags()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TargetFlags:
    """The place at which API servers call the webhooks.

    Parameters
    ----------
    service
        The Service that API servers call.
    namespace
        The Service's namespace.
    url
        The address that API servers call, instead of a Service.
    """

    service: str | None = None
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"])] = "default"
    url: str | None = None

    def target(self) -> ServiceTarget | UrlTarget:
        """Raises `SystemExit` if not exactly one place is given."""
        if self.url is not None and self.service is None:
            return UrlTarget(self.url)
        if self.service is None or self.url is not None:
            raise SystemExit(f"{PROGRAM}: give exactly one of --service and --url")
        return ServiceTarget(self.service, self.namespace)


_DEFAULT_TARGET: Final = TargetFlags()


def manifests(
    app: str,
    *,
    service: str,
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"])] = "default",
    name: str | None = None,
    option: OptionValues = (),
) -> None:
    """Print the objects that register APP's webhooks with API servers, as YAML for kubectl apply.

    They are the webhook configurations and the CustomResourceDefinitions of the kinds that APP converts.

    Parameters
    ----------
    app
        A file (app.py), a package's folder or a module, with Admissions and custom resource classes as globals.
    service
        The Service that API servers call.
    namespace
        The Service's namespace.
    name
        The name of the webhook configurations; default: the API group of their kinds.
    option
        An option of the program, NAME=VALUE, if its controllers are made of options. Repeatable.
    """
    with reported_trouble():
        target = ServiceTarget(service, namespace)
        with loaded(app) as program:
            served = served_by(program, option)
            documents = definitions_of(
                (kind for converter in converters_of(served) for kind in converter.classes), target
            )
            sys.stdout.write(to_yaml([*documents, *configurations(served, webhook_name(served, name), target)]))


def install_webhooks(
    app: str,
    *,
    called: TargetFlags = _DEFAULT_TARGET,
    name: str | None = None,
    ca_file: Path | None = None,
    definitions: Annotated[bool, Parameter(negative="")] = False,
    timeout: float = 30.0,
    option: OptionValues = (),
    cluster: KubeconfigFlags = DEFAULT_CLUSTER,
) -> None:
    """Register webhooks that run elsewhere, and wait until API servers call them.

    Parameters
    ----------
    app
        A file (app.py), a package's folder or a module, with Admissions and custom resource classes as globals.
    name
        The name of the webhook configurations; default: the API group of their kinds.
    ca_file
        The CA bundle that API servers trust (PEM); default: keep the bundle that is registered or injected.
    definitions
        Also apply the CustomResourceDefinitions of the converted kinds.
    timeout
        Seconds to wait until API servers call the webhooks.
    option
        An option of the program, NAME=VALUE, if its controllers are made of options. Repeatable.
    """
    with reported_trouble(), loaded(app) as program:
        target = called.target()
        served = served_by(program, option)
        configuration = webhook_name(served, name)
        bundle = _bundle(ca_file)

        async def work() -> None:
            async with cluster.client(FIELD_MANAGER) as client:
                await install(
                    client,
                    served,
                    configuration,
                    target,
                    bundle=bundle,
                    samples=generated_samples(served, client.namespace),
                    definitions=definitions,
                    timeout=timeout,
                )

        asyncio.run(work())


def uninstall_webhooks(
    app: str,
    *,
    name: str | None = None,
    keep_conversions: Annotated[bool, Parameter(negative="")] = False,
    option: OptionValues = (),
    cluster: KubeconfigFlags = DEFAULT_CLUSTER,
) -> None:
    """Unregister the webhooks. Run this command while they are still served.

    Afterwards API servers serve only the storage version of each converted kind. Before you run this command, rewrite
    objects that are stored in other versions, with setpoint crd migrate.

    Parameters
    ----------
    app
        A file (app.py), a package's folder or a module, with Admissions and custom resource classes as globals.
    name
        The name of the webhook configurations; default: the API group of their kinds.
    keep_conversions
        Leave conversions registered, for webhooks that will be served again.
    option
        An option of the program, NAME=VALUE, if its controllers are made of options. Repeatable.
    """
    with reported_trouble(), loaded(app) as program:
        served = served_by(program, option)
        configuration = webhook_name(served, name)

        async def work() -> None:
            async with cluster.client(FIELD_MANAGER) as client:
                await uninstall(client, served, configuration, conversions=not keep_conversions)

        asyncio.run(work())


def _bundle(file: Path | None) -> bytes:
    """The CA bundle in a file, as API servers read it. Raises `UsageError` if there is no certificate in it."""
    if file is None:
        return b""
    pem = without_mark(file.read_bytes())
    if not certificates_in(pem):
        raise UsageError(f"--ca-file {file} contains no PEM certificate")
    return pem


@contextmanager
def reported_trouble() -> Iterator[None]:
    with reported(PROGRAM):
        try:
            yield
        except (AdmissionError, CertificateError, NotInForce, SourceError, TargetError) as problem:
            print(visible(f"{PROGRAM}: {problem}"), file=sys.stderr)  # noqa: T201 - this is the user's terminal
            raise SystemExit(1) from None
