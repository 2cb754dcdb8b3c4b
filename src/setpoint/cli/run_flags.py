"""The flags of the command ``run``, in groups. Each group checks what it alone can know."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from setpoint.apps.error_reports import UsageError
from setpoint.client import Client
from setpoint.manager.http_server import split_address
from setpoint.meta.names import dns1123_subdomain
from setpoint.trust import certificates_only, trust
from setpoint.webhook import UrlTarget
from setpoint.webhook.caller_tokens import CallerTokens
from setpoint.webhook.callers import AllowedCallers
from setpoint.webhook.registration import TargetError

_Switch = Annotated[bool, Parameter(negative="")]
_Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]
_OFF: Final = "0"


def check_address(flag: str, address: str) -> None:
    """Raises `UsageError` if the value of a flag is not a bind address."""
    try:
        split_address(address)
    except ValueError as problem:
        raise UsageError(f"{flag}: {problem}") from None


@Parameter(name="*", group=Group("Cluster", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class ClusterFlags:
    """The clusters in which the controllers run.

    Parameters
    ----------
    kubeconfig
        The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
    context
        The kubeconfig's context to use.
    namespace
        Watch only this namespace; default: all.
    clusters
        Run in every cluster that has a kubeconfig in this folder (files may come and go), instead of in the cluster
        of --kubeconfig, which then holds only the Leases.
    embedded
        Use an API server in this process, with the CustomResourceDefinitions installed, instead of a cluster.
    port
        With --embedded: the server's port; 0 picks a free one.
    write_kubeconfig
        With --embedded: write a kubeconfig for kubectl to this file.
    crds
        With --embedded: also install the CustomResourceDefinitions in this file or folder, such as those of other
        projects. May be given more than once.
    """

    kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None
    context: str | None = None
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None
    clusters: Path | None = None
    embedded: _Switch = False
    port: _Port = 0
    write_kubeconfig: Path | None = None
    crds: Annotated[tuple[Path, ...], Parameter(negative="")] = ()

    def check(self) -> None:
        """Raises `UsageError` if two of the flags exclude each other, or ``clusters`` is not a folder."""
        if not self.embedded and (self.port or self.write_kubeconfig or self.crds):
            raise UsageError("--port, --write-kubeconfig and --crds need --embedded")
        for flag, value in (("clusters", self.clusters), ("kubeconfig", self.kubeconfig), ("context", self.context)):
            if value is not None and self.embedded:
                raise UsageError(f"--{flag} and --embedded exclude each other")
        if self.clusters is not None and not self.clusters.is_dir():
            raise UsageError(
                f"--clusters: {self.clusters} is not a folder; name one that has a kubeconfig of each cluster"
            )

    def of_child(self, kubeconfig: Path | None) -> ClusterFlags:
        """The flags of a child process, whose supervisor has the embedded server, with this kubeconfig."""
        context = None if self.embedded else self.context
        return replace(self, kubeconfig=kubeconfig or self.kubeconfig, context=context, embedded=False)


@Parameter(name="*", group=Group("Replicas and processes", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class ReplicaFlags:
    """The replicas of the program, and the processes of each.

    Parameters
    ----------
    leader_elect
        Run only while this process is the elected leader.
    leader_election_id
        The name of the Lease; default: the program's name.
    leader_election_namespace
        The Lease's namespace; default: that of the kubeconfig's context.
    lost_lease
        With --leader-elect: what the process does when it has lost its lease: end, or become a standby again.
    shards
        Share the objects with all other processes of this program that run with --shards, instead of electing a
        leader. The name and namespace of their Leases are set by the flags of leader election.
    shards_by
        With --shards: share out single objects, or namespaces. With namespace, the caches of the reconciled kinds
        and of their children hold this process's namespaces only.
    processes
        Split the objects among this many processes, so that as many cores are used. This process starts them,
        replaces those that die, takes part in the election for them, and serves their metrics and health.
    divide_caches
        With --processes: the caches of each process hold only the reconciled objects that are its own, and their
        children. A reconcile's reads of others, and its lists, are requests to the server.
    pause_switch
        Follow this ConfigMap in the namespace of the kubeconfig's context: setpoint pause controller NAME stops a
        controller by it.
    resync
        Reconcile every object again after this many seconds, with low priority; 0 means never. It does not apply to
        controllers that declare a period of their own.
    """

    leader_elect: bool = False
    leader_election_id: str | None = None
    leader_election_namespace: str | None = None
    lost_lease: Literal["exit", "standby"] = "exit"
    shards: _Switch = False
    shards_by: Literal["key", "namespace"] = "key"
    processes: Annotated[int, Parameter(validator=Number(gte=1, lte=256))] = 1
    divide_caches: _Switch = False
    pause_switch: str | None = None
    resync: Annotated[float, Parameter(validator=Number(gte=0))] = 0.0

    @property
    def elects(self) -> bool:
        """Whether the program needs Leases."""
        return self.leader_elect or self.shards

    def check(self) -> None:
        """Raises `UsageError` if two of the flags exclude each other."""
        if self.shards and self.leader_elect:
            raise UsageError("--shards and --leader-elect exclude each other: with shards every process works")
        if self.shards_by == "namespace" and not self.shards:
            raise UsageError("--shards-by namespace needs --shards")
        if self.divide_caches and (self.processes == 1 or self.shards):
            raise UsageError(
                "--divide-caches needs --processes, and can't be combined with --shards: the caches of shards are "
                "divided by --shards-by namespace"
            )
        if self.pause_switch is not None and (problems := dns1123_subdomain(self.pause_switch)):
            raise UsageError(f"--pause-switch: {self.pause_switch!r} is not the name of a ConfigMap: {problems[0]}")
        if self.lost_lease == "standby" and not self.leader_elect:
            raise UsageError("--lost-lease standby needs --leader-elect")


@Parameter(name="*", group=Group("Metrics, health and pages", sort_key=3))
@dataclass(frozen=True, kw_only=True)
class ServingFlags:
    """The metrics, health checks and pages of the process.

    Parameters
    ----------
    metrics_bind_address
        The address for Prometheus metrics, such as :8080; 0 means off.
    metrics_secure
        Serve metrics over TLS, and only to authorized users (token and access reviews).
    metrics_cert_dir
        With --metrics-secure: the directory of tls.crt and tls.key; they are read again when they change.
    profiling
        Also serve profiles of CPU, heap and tasks below /debug/profile, beside the metrics.
    ui
        Also serve a web page at /ui/, beside the metrics: controllers, objects, and why an object is stuck.
    health_probe_bind_address
        The address for /healthz and /readyz, such as :8081; 0 means off.
    measure
        Write to this file, at the end, how much CPU and memory the run used, for manifests --resources.
    """

    metrics_bind_address: str = _OFF
    metrics_secure: _Switch = False
    metrics_cert_dir: Path | None = None
    profiling: _Switch = False
    ui: _Switch = False
    health_probe_bind_address: str = _OFF
    measure: Path | None = None

    def check(self) -> None:
        """Raises `UsageError` if an address is malformed, or if a flag lacks the one that it needs."""
        check_address("--metrics-bind-address", self.metrics_bind_address)
        check_address("--health-probe-bind-address", self.health_probe_bind_address)
        serves_health = self.health_probe_bind_address not in ("", _OFF)
        for flag, is_set in (("ui", self.ui), ("profiling", self.profiling)):
            if is_set and not (self.serves_metrics or serves_health):
                raise UsageError(f"--{flag} needs --metrics-bind-address")
        if self.metrics_secure and not self.serves_metrics:
            raise UsageError("--metrics-secure needs --metrics-bind-address")
        if self.metrics_secure is (self.metrics_cert_dir is None):
            raise UsageError("--metrics-secure and --metrics-cert-dir need each other")

    @property
    def serves_metrics(self) -> bool:
        return self.metrics_bind_address not in ("", _OFF)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class KubeconfigFlags:
    """The cluster that a command connects to.

    Parameters
    ----------
    kubeconfig
        The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
    context
        The kubeconfig's context to use.
    """

    kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None
    context: str | None = None

    def client(self, field_manager: str) -> Client:
        return Client.from_environment(self.kubeconfig, context=self.context, field_manager=field_manager)


@Parameter(name="*", group=Group("Webhooks", sort_key=4))
@dataclass(frozen=True, kw_only=True)
class WebhookFlags:
    """The webhooks that this process serves beside the controllers.

    Parameters
    ----------
    webhook_cert_dir
        Also serve the webhooks, over HTTPS with tls.crt and tls.key from this directory; they are read again when
        they change.
    webhook_service
        Also serve the webhooks behind this Service of the client's namespace: make certificates in the Secret
        SERVICE-tls, and have API servers trust them. To serve the webhooks separately, use setpoint webhook.
    webhook_port
        The port to serve webhooks on.
    """

    webhook_cert_dir: Path | None = None
    webhook_service: str | None = None
    webhook_port: _Port = 9443

    def check(self) -> None:
        """Raises `UsageError` if two of the flags exclude each other."""
        if self.webhook_cert_dir and self.webhook_service:
            raise UsageError("--webhook-cert-dir and --webhook-service exclude each other")

    @property
    def place(self) -> Path | str | None:
        """The folder with the certificates, or the name of the Service; None if webhooks are not served."""
        return self.webhook_cert_dir or self.webhook_service


@Parameter(name="*", group=Group("Callers of webhooks", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class CallerFlags:
    """The clients that may call the admission webhooks; by default, any client that reaches them.

    Parameters
    ----------
    webhook_client_ca
        Answer only clients with a certificate that an authority in this file (PEM) has signed. The API server presents
        one if its --admission-control-config-file has a kubeConfigFile with a client certificate.
    webhook_client_name
        With --webhook-client-ca: a common name that the certificate may have; repeatable. Default: any.
    webhook_tokens
        What happens with tokens of API servers (KEP-6060): ignore them, verify them when they come, or require one.
    webhook_address
        With --webhook-tokens and --webhook-cert-dir (--cert-dir): the address at which API servers call the webhooks,
        such as https://SERVICE.NAMESPACE.svc:443; tokens are for it.
    """

    webhook_client_ca: Path | None = None
    webhook_client_name: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = ()
    webhook_tokens: Literal["ignore", "verify", "require"] = "ignore"
    webhook_address: str | None = None

    @property
    def verifies_tokens(self) -> bool:
        return self.webhook_tokens != "ignore"

    def check(self, address: str) -> None:
        """Raises `UsageError` if a flag lacks the one that it needs. ``address`` is that of the webhooks, or empty if
        only ``--webhook-address`` can say it.
        """
        if self.webhook_client_name and self.webhook_client_ca is None:
            raise UsageError("--webhook-client-name needs --webhook-client-ca: only verified certificates have names")
        if self.webhook_address is not None:
            if not self.verifies_tokens:
                raise UsageError("--webhook-address needs --webhook-tokens verify or require")
            try:
                UrlTarget(self.webhook_address)
            except TargetError as problem:
                raise UsageError(f"--webhook-address: {problem}") from None
        elif self.verifies_tokens and not address:
            raise UsageError(
                f"--webhook-tokens {self.webhook_tokens} needs --webhook-address here, the address at which API "
                "servers call the webhooks, such as https://SERVICE.NAMESPACE.svc:443: tokens are for one address"
            )

    def allowed(self, client: Client | None, address: str) -> AllowedCallers:
        """The callers that the flags allow. ``client`` reviews tokens.

        Raises:
            UsageError: the file of the authorities can't be read, or contains no certificate.
        """
        authorities = None if self.webhook_client_ca is None else authorities_in(self.webhook_client_ca)
        tokens = None
        if self.verifies_tokens:
            assert client is not None
            tokens = CallerTokens(client, self.webhook_address or address, required=self.webhook_tokens == "require")
        return AllowedCallers(client_ca=authorities, client_names=self.webhook_client_name, tokens=tokens)


def authorities_in(file: Path) -> bytes:
    """The certificates in the file of ``--webhook-client-ca``, as PEM, without anything else, such as a key.

    Raises:
        UsageError: the file can't be read, or contains no certificate.
    """
    try:
        pem = file.read_bytes()
        trust(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pem)
    except OSError as problem:
        raise UsageError(f"--webhook-client-ca {file}: {problem.strerror}") from None
    except ValueError:
        raise UsageError(f"--webhook-client-ca {file} contains no usable PEM certificate") from None
    return certificates_only(pem)


@Parameter(name="*", group=Group("Log and OpenTelemetry", sort_key=6))
@dataclass(frozen=True, kw_only=True)
class LogFlags:
    """The log of the process.

    Parameters
    ----------
    log_format
        text, or json for one JSON object per line.
    log_level
        The lowest level that is logged.
    otlp
        Also send log records, metrics and spans to an OpenTelemetry collector over HTTP; variables such as
        OTEL_EXPORTER_OTLP_ENDPOINT say where. It needs the extra setpoint[otlp].
    """

    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    otlp: _Switch = False
