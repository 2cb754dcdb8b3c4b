"""The flags of ``manifests`` about the deployment of a program, and about the callers of its webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from setpoint.apps.error_reports import UsageError
from setpoint.cli.program_options import OptionValues
from setpoint.cli.run_flags import authorities_in
from setpoint.deploy.installation import WebhookCallers

Form = Literal["plain", "kustomize", "helm", "olm"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DeploymentFlags:
    """The deployment of the program.

    Parameters
    ----------
    namespace
        The namespace in which the program runs.
    watch_namespace
        The only namespace that the controllers watch: they get a Role in it instead of a ClusterRole.
    certificates
        The issuer of the webhooks' certificate. own: the program itself; cert-manager: cert-manager.
    replicas
        The number of replicas; one of them leads.
    shards
        Let all replicas work, each on its share of the objects, instead of electing a leader.
    shards_by
        With --shards: share out single objects, or namespaces. With namespace, each replica caches its own namespaces
        only, so that memory divides, too.
    resources
        A file that run --measure wrote, from which requests and limits are computed; default: an estimate.
    monitoring
        Also print a ServiceMonitor, alerts and a dashboard, which need the kinds of prometheus-operator. The forms
        that are folders always contain them, to be switched on as needed.
    release
        The version, such as 1.2.3; default: the image's tag.
    option
        An option of the program, NAME=VALUE: the controllers are made of it, and the Deployment runs with it.
        Repeatable; default: the options' defaults.
    kubernetes
        A version of Kubernetes, such as 1.33: also name, on standard error, the kinds and fields that are printed or
        that the controllers watch or own, and that a cluster of that version does not know or drops; then exit with 1.
        Such fields of Kubernetes' types within custom kinds are only named.
    """

    namespace: Annotated[str, Parameter(name=["--namespace", "-n"])] = "default"
    watch_namespace: str | None = None
    certificates: Literal["own", "cert-manager"] = "own"
    replicas: Annotated[int, Parameter(validator=Number(gte=0))] = 2
    shards: Annotated[bool, Parameter(negative="")] = False
    shards_by: Literal["key", "namespace"] = "key"
    resources: Path | None = None
    monitoring: Annotated[bool, Parameter(negative="")] = False
    release: str = ""
    option: OptionValues = ()
    kubernetes: Annotated[str, Parameter(name="--for")] = ""

    def check(self) -> None:
        """Raises `UsageError` if two of the flags exclude each other."""
        if self.shards_by == "namespace" and not self.shards:
            raise UsageError("--shards-by namespace needs --shards")
        if self.shards_by == "namespace" and self.watch_namespace is not None:
            raise UsageError(
                "--shards-by namespace and --watch-namespace exclude each other: one namespace can't be divided"
            )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CallerDeploymentFlags:
    """With --image: the clients that may call the webhooks; by default, any client that reaches them.

    Parameters
    ----------
    webhook_client_ca
        A file with the authorities (PEM) of the client certificates of API servers; it becomes a ConfigMap.
    webhook_client_name
        A common name that such a certificate may have; repeatable. Default: any.
    webhook_tokens
        What happens with tokens of API servers (KEP-6060): ignore them, verify them when they come, or require one.
    webhook_network
        A network of API servers (10.0.0.0/24), from which alone the NetworkPolicy lets clients reach the webhooks;
        repeatable. Default: all networks.
    """

    webhook_client_ca: Path | None = None
    webhook_client_name: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = ()
    webhook_tokens: Literal["ignore", "verify", "require"] = "ignore"
    webhook_network: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = ()

    def callers(self, form: Form) -> WebhookCallers:
        """The callers for the documents.

        Raises:
            UsageError: the file can't be used, a network is not one, or names are given without authorities.
        """
        authorities = "" if self.webhook_client_ca is None else authorities_in(self.webhook_client_ca).decode()
        if self.webhook_client_name and not authorities:
            raise UsageError("--webhook-client-name needs --webhook-client-ca: only verified certificates have names")
        try:
            networks = [str(ip_network(network)) for network in self.webhook_network]
        except ValueError as problem:
            raise UsageError(f"--webhook-network: {problem}") from None
        if form == "olm" and (authorities or self.webhook_tokens != "ignore"):
            raise UsageError(
                "--form olm can't be combined with --webhook-client-ca and --webhook-tokens: OLM itself chooses the "
                "Service of the webhooks"
            )
        return WebhookCallers(authorities, self.webhook_client_name, self.webhook_tokens, networks)
