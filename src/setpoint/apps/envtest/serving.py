"""Runs the embedded server as configured by the flags of kube-apiserver."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from setpoint.apiserver import (
    Access,
    AccountTokens,
    ApiServer,
    Authentication,
    HttpFront,
    MemoryStorage,
    Rbac,
    SqliteStorage,
    Storage,
    StorageError,
)
from setpoint.apiserver.resources.service_networks import ServiceNetwork, service_networks
from setpoint.apiserver.server import OFF_BY_DEFAULT
from setpoint.apps.envtest.etcd import DIRECTORY
from setpoint.apps.envtest.feature_gates import SHARDS, WEBHOOK_TOKENS, is_on
from setpoint.apps.envtest.flags import FlagError, Flags, http_address
from setpoint.apps.envtest.runtime_config import restrict
from setpoint.starting import freeze_heap
from setpoint.trust import trust

if TYPE_CHECKING:
    from setpoint.apiserver.audit.log import AuditLog
    from setpoint.apiserver.identity.oidc import OidcProvider
    from setpoint.apiserver.webhooks.credentials import WebhookUsers

_PATIENCE = 20.0
"""Seconds within which etcd must answer."""
_LIFETIME = timedelta(days=365)


class ServingError(RuntimeError):
    """The server can't serve; the message gives the reason and the remedy."""


def run(flags: Flags) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises:
        FlagError: a flag or a file that it names is not valid, or flags contradict each other.
        ServingError: etcd does not answer, or the storage or the certificates can't be used.
        OSError: a file can't be read, or the port is taken.
    """
    try:
        asyncio.run(_until_stopped(flags))
    except StorageError as problem:
        raise ServingError(str(problem)) from None


async def _until_stopped(flags: Flags) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with serving(flags):
        freeze_heap()
        await stopped.wait()


@asynccontextmanager
async def serving(flags: Flags) -> AsyncIterator[HttpFront]:
    """Serves within the block, and yields the server's HTTP front. Raises the same errors as `run`, except that errors
    of the storage are raised as StorageError, not as ServingError.
    """
    storage = await _storage(flags)
    modes = flags.several("authorization-mode")
    authorizer = Rbac(storage) if modes and "AlwaysAllow" not in modes else None
    authentication = await _authentication(flags)
    server = ApiServer(
        storage=storage,
        access=Access(
            authentication=authentication,
            authorizer=authorizer,
            account_tokens=_account_tokens(flags),
            audit=_audit(flags),
            webhook_users=_webhook_users(flags),
        ),
        default_objects=True,
        plugins_off={
            *flags.several("disable-admission-plugins"),
            *(OFF_BY_DEFAULT - frozenset(flags.several("enable-admission-plugins"))),
        },
        service_networks=_service_networks(flags),
    )
    server.state.serves_shards = is_on(SHARDS, flags.several("feature-gates"))
    restrict(server, flags.several("runtime-config"))
    port = _port(flags)
    host = flags.text("bind-address", "127.0.0.1")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(server)
        if flags.several("controllers"):
            from setpoint.client import Client, InProcessTransport
            from setpoint.cluster.control_plane import ControlPlane
            from setpoint.cluster.controller_registry import names_of

            try:
                names = names_of(flags.several("controllers"))
            except ValueError as problem:
                raise FlagError(f"--controllers: {problem}") from None
            assert names is not None
            client = await stack.enter_async_context(Client(InProcessTransport(server.handle)))
            await stack.enter_async_context(ControlPlane(client, server=server, controllers=names))
        guarded = authorizer is not None or not authentication.anonymous
        front = await stack.enter_async_context(
            HttpFront(server, host, port, tls=_tls(flags, host), authenticates=guarded)
        )
        server.listens_at(front.host, front.port)
        yield front


async def _storage(flags: Flags) -> Storage:
    """The storage in the directory that ``etcd`` names; storage in memory if ``--etcd-servers`` is not given.

    Raises:
        FlagError: the address is not valid.
        ServingError: ``etcd`` does not answer in time, or is not `setpoint.apps.envtest.etcd`.
    """
    urls = flags.several("etcd-servers")
    if not urls:
        return MemoryStorage()
    host, port = http_address("etcd-servers", urls[0], default_port=2379)
    try:
        async with asyncio.timeout(_PATIENCE):
            answer = await _ask(host, port)
        return SqliteStorage(json.loads(answer)["directory"])
    except (TimeoutError, OSError, asyncio.IncompleteReadError) as problem:
        raise ServingError(f"--etcd-servers={urls[0]} does not answer: {str(problem) or 'it took too long'}") from None
    except (ValueError, KeyError, TypeError):
        raise ServingError(
            f"--etcd-servers={urls[0]} is not setpoint's etcd: start the one in this program's directory"
        ) from None


async def _ask(host: str, port: int) -> bytes:
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
            break
        except ConnectionRefusedError:  # it may be starting
            await asyncio.sleep(0.05)
    try:
        writer.write(f"GET {DIRECTORY} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return (await reader.read()).partition(b"\r\n\r\n")[2]
    finally:
        writer.close()


def _port(flags: Flags) -> int:
    """The value of ``--secure-port``. Raises FlagError if it is not the number of a port."""
    port = flags.number("secure-port", 6443)
    if not 0 <= port <= 65535:
        raise FlagError(f"--secure-port={port} must be between 0 and 65535")
    return port


def _service_networks(flags: Flags) -> tuple[ServiceNetwork, ...]:
    """The networks of ``--service-cluster-ip-range``. Raises FlagError if they are not valid."""
    texts = flags.several("service-cluster-ip-range")
    try:
        return service_networks(texts)
    except ValueError as problem:
        raise FlagError(f"--service-cluster-ip-range={','.join(texts)}: {problem}") from None


def _audit(flags: Flags) -> AuditLog | None:
    policy, path = (flags.text(f"audit-{name}") for name in ("policy-file", "log-path"))
    if not policy and not path:
        return None
    from setpoint.cluster.security_files import SecurityError
    from setpoint.cluster.server_security import audit_log

    try:
        return audit_log(Path(policy) if policy else None, Path(path) if path else None)
    except SecurityError as problem:
        raise FlagError(str(problem)) from None


def _webhook_users(flags: Flags) -> Mapping[str, WebhookUsers]:
    file = flags.text("admission-control-config-file")
    if not file:
        return {}
    from setpoint.cluster.security_files import SecurityError
    from setpoint.cluster.server_security import admission_users

    try:
        return admission_users(Path(file))
    except SecurityError as problem:
        raise FlagError(str(problem)) from None


async def _provider(flags: Flags) -> OidcProvider:
    from setpoint.cluster.oidc_options import OidcOptions, oidc_provider
    from setpoint.cluster.security_files import SecurityError

    claims = {}
    for text in flags.several("oidc-required-claim"):
        name, equals, value = text.partition("=")
        if not equals:
            raise FlagError(f"--oidc-required-claim={text}: give it as NAME=VALUE")
        claims[name] = value
    authority = flags.text("oidc-ca-file")
    options = OidcOptions(
        flags.text("oidc-issuer-url"),
        flags.text("oidc-client-id"),
        ca_file=Path(authority) if authority else None,
        username_claim=flags.text("oidc-username-claim", "sub"),
        username_prefix=flags.text("oidc-username-prefix") or None,
        groups_claim=flags.text("oidc-groups-claim"),
        groups_prefix=flags.text("oidc-groups-prefix"),
        required_claims=claims,
        signing_algorithms=tuple(flags.several("oidc-signing-algs")) or ("RS256",),
    )
    try:
        return await oidc_provider(options)
    except SecurityError as problem:
        raise FlagError(str(problem)) from None


async def _authentication(flags: Flags) -> Authentication:
    static = {}
    if tokens := flags.text("token-auth-file"):
        from setpoint.apiserver.identity.static_tokens import read_tokens

        try:
            static = read_tokens(Path(tokens))
        except ValueError as problem:
            raise FlagError(f"--token-auth-file: {problem}") from None
    return Authentication(
        static=static,
        oidc=[await _provider(flags)] if flags.text("oidc-issuer-url") else [],
        bootstrap=flags.true("enable-bootstrap-token-auth", False),
        anonymous=flags.true("anonymous-auth", True),
    )


def _account_tokens(flags: Flags) -> AccountTokens | None:
    """The issuer of service accounts' tokens, with the given keys and names. Without a signing key, it makes one, and
    the tokens are valid only until this process ends. None if no flag concerns these tokens.
    """
    signing, files = flags.text("service-account-signing-key-file"), flags.several("service-account-key-file")
    issuers, audiences = flags.several("service-account-issuer"), flags.several("api-audiences")
    webhooks = is_on(WEBHOOK_TOKENS, flags.several("feature-gates"))
    if not (signing or files or issuers or audiences or webhooks):
        return None
    from setpoint.apiserver.identity.keys import BadKeyError, PemKeys, make_key
    from setpoint.apiserver.identity.tokens import AUDIENCE

    private = Path(signing).read_bytes() if signing else make_key()
    try:
        keys = PemKeys(private)
    except BadKeyError as problem:
        raise FlagError(f"--service-account-signing-key-file={signing}: {problem}") from None
    verifying: list[bytes] = []
    for name in files:
        verifying.append(Path(name).read_bytes())
        try:
            keys = PemKeys(private, verifying)
        except BadKeyError as problem:
            raise FlagError(f"--service-account-key-file={name}: {problem}") from None
    return AccountTokens(keys, issuers=issuers or [AUDIENCE], audiences=audiences, webhooks=webhooks)


def _tls(flags: Flags, host: str) -> ssl.SSLContext:
    certificate, key = _certificate(flags, host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
        if authority := flags.text("client-ca-file"):
            trust(context, Path(authority).read_bytes())
            context.verify_mode = ssl.CERT_OPTIONAL
    except (ssl.SSLError, ValueError) as problem:
        names = ", ".join(filter(None, (str(certificate), str(key), flags.text("client-ca-file"))))
        raise ServingError(f"{names}: not a certificate and key that TLS can use ({problem})") from None
    return context


def _certificate(flags: Flags, host: str) -> Sequence[Path]:
    """The files of the serving certificate and its key; both are made if they are missing."""
    names = flags.text("tls-cert-file"), flags.text("tls-private-key-file")
    if all(names):
        return [Path(name) for name in names]
    if any(names):
        raise FlagError("--tls-cert-file and --tls-private-key-file are only taken together")
    folder = Path(flags.text("cert-dir", "/var/run/kubernetes"))
    files = [folder / "apiserver.crt", folder / "apiserver.key"]
    if not all(file.exists() for file in files):
        from setpoint.webhook.certificate_authority import issue, make_authority

        now = datetime.now(UTC)
        authority = make_authority(f"{host}-ca", now=now, lifetime=_LIFETIME)
        pair = issue(authority, [host, "localhost", "kubernetes"], now=now, lifetime=_LIFETIME)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files[1].touch(mode=0o600)
        files[1].write_bytes(pair.key)
        files[0].write_bytes(pair.certificate + authority.certificate)
    return files
