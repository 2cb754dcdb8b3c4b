"""TLS and authentication of an embedded cluster's server."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from setpoint.apiserver import AccountTokens, Authentication, UserInfo
from setpoint.apiserver.audit.log import AuditLog
from setpoint.apiserver.audit.policy import AuditPolicy, AuditPolicyError
from setpoint.apiserver.http.allowed_hosts import loopback_of
from setpoint.apiserver.identity.keys import BadKeyError, PemKeys, PublicKey, keys_of_jwks, make_key
from setpoint.apiserver.identity.oidc import OidcProvider
from setpoint.apiserver.identity.provider_keys import ProviderKeys
from setpoint.apiserver.identity.static_tokens import read_tokens
from setpoint.apiserver.identity.tokens import AUDIENCE
from setpoint.apiserver.webhooks.admission_configuration import webhook_users
from setpoint.apiserver.webhooks.credentials import CredentialsError, WebhookUsers
from setpoint.meta.optional_dependencies import needs_extra
from setpoint.meta.user_error import UserError
from setpoint.trust import client_context
from setpoint.webhook.certificate_authority import CertificateError, Pair, facts_of, issue, make_authority, matches
from setpoint.webhook.server_tls import ServerTls

_log = logging.getLogger("setpoint.audit")
_LIFETIME: Final = timedelta(days=3650)
_SERVING: Final = timedelta(days=365)
_RENEW: Final = 0.5
"""The fraction of its lifetime after which a stored certificate is replaced when the server starts."""
_NAMES: Final = (
    *("localhost", "127.0.0.1", "::1", "10.96.0.1"),
    *("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"),
)
_ADMIN: Final = "kubernetes-admin"
_ASYMMETRIC: Final = frozenset(
    ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA")
)


class SecurityError(UserError, ValueError):
    """A file or value of `Security` can't be used; the message names the file or value and gives the reason."""


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """The settings of kube-apiserver's ``--oidc-…`` flags.

    The provider's keys come from ``jwks_file``; without it, they are fetched from ``issuer_url``, at startup, and again
    when the provider has changed them (`ProviderKeys`). The provider's certificate is checked against ``ca_file`` or
    the system's authorities. For ``username_prefix``, see `OidcProvider`.
    """

    issuer_url: str
    client_id: str
    jwks_file: Path | None = None
    ca_file: Path | None = None
    username_claim: str = "sub"
    username_prefix: str | None = None
    groups_claim: str = ""
    groups_prefix: str = ""
    required_claims: Mapping[str, str] = field(default_factory=dict)
    signing_algorithms: tuple[str, ...] = ("RS256",)


@dataclass(frozen=True, slots=True)
class Security:
    """TLS and authentication of an `EmbeddedCluster`; each field has the meaning of kube-apiserver's flag of that name.

    ``auth`` says whether users are authenticated and restricted by roles; without it, every client that reaches the
    server may do everything. The cluster's kubeconfig belongs to an administrator in either case. Without
    ``tls_cert_file`` and ``tls_private_key_file``, the server makes an authority and a certificate, and keeps them in
    the data directory; ``tls_sans`` are names and addresses that it has beside those of loopback and of the Service
    ``kubernetes``. ``webhook_tokens`` is the feature gate APIServerWebhookAuthenticationToken (`AccountTokens`).
    ``plugins_on`` are admission plugins that are off by default, which need ``auth``.
    """

    auth: bool = False
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    tls_sans: tuple[str, ...] = ()
    client_ca_file: Path | None = None
    token_auth_file: Path | None = None
    service_account_issuers: tuple[str, ...] = ()
    service_account_key_files: tuple[Path, ...] = ()
    service_account_signing_key_file: Path | None = None
    api_audiences: tuple[str, ...] = ()
    oidc: OidcOptions | None = None
    anonymous_auth: bool = True
    audit_policy_file: Path | None = None
    audit_log_path: Path | None = None
    admission_control_config_file: Path | None = None
    webhook_tokens: bool = False
    plugins_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Secured:
    """The result of `secure`. ``authority`` (PEM) is the CA that clients trust. ``token`` is an administrator's token
    if users are authenticated; otherwise any token works. ``client_ca`` has the authorities of users, and ``signer`` is
    the server's own authority, unless its certificate comes from files.
    """

    tls: ssl.SSLContext
    authority: bytes
    account_tokens: AccountTokens
    authentication: Authentication | None
    client_ca: bytes
    token: str
    signer: Pair | None
    audit: AuditLog | None
    webhook_users: Mapping[str, WebhookUsers]


async def secure(security: Security, host: str, directory: Path | None) -> Secured:
    """Reads or makes the keys, certificates and tokens for a server at ``host``.

    ``directory`` stores everything that is made, so clients and tokens still work after a restart of the server.

    Raises:
        SecurityError: a file or a setting can't be used, or a provider's keys can't be fetched.
    """
    if not security.auth and (wrong := _only_with_auth(security)):
        raise SecurityError(f"{wrong} configures the authentication of users: it needs --auth")
    serving, authority, signer = _certificate(security, host, directory)
    client_ca_option = None if security.client_ca_file is None else _read(security.client_ca_file, "--client-ca-file")
    try:
        ServerTls(client_ca_option)  # by itself, so that what is wrong with the file is said
        client_ca = client_ca_option or b""
        if security.auth and signer is not None:
            client_ca += signer.certificate
        tls = ServerTls(client_ca or None)
    except CertificateError as problem:
        raise SecurityError(f"--client-ca-file {security.client_ca_file}: {problem}") from None
    try:
        tls.use(serving)
    except CertificateError as problem:
        raise SecurityError(f"--tls-cert-file {security.tls_cert_file}: {problem}") from None
    token = secrets.token_urlsafe(32)  # kubectl asks for a password where a kubeconfig has no credentials for TLS
    authentication = None
    if security.auth:
        static = {}
        if security.token_auth_file is not None:
            try:
                static = read_tokens(security.token_auth_file)
            except OSError as problem:
                raise SecurityError(f"--token-auth-file {security.token_auth_file}: {problem.strerror}") from None
            except ValueError as problem:
                raise SecurityError(f"--token-auth-file: {problem}") from None
        static[token] = UserInfo(_ADMIN, groups=("system:masters",))
        oidc = [await oidc_provider(security.oidc)] if security.oidc is not None else []
        authentication = Authentication(static, oidc=oidc, anonymous=security.anonymous_auth)
    return Secured(
        tls=tls.context,
        authority=authority,
        account_tokens=_account_tokens(security, directory),
        authentication=authentication,
        client_ca=client_ca,
        token=token,
        signer=signer,
        audit=audit_log(security.audit_policy_file, security.audit_log_path),
        webhook_users=admission_users(security.admission_control_config_file),
    )


def admission_users(path: Path | None) -> Mapping[str, WebhookUsers]:
    """The users as which the server calls webhooks, by admission plugin; none without a file.

    Raises:
        SecurityError: the file, or one that it names, can't be used.
    """
    try:
        return {} if path is None else webhook_users(path)
    except CredentialsError as problem:
        raise SecurityError(f"--admission-control-config-file {problem}") from None


def audit_log(policy: Path | None, path: Path | None) -> AuditLog | None:
    """A log that appends its lines to the file ``path``; ``-`` is stdout. None if neither a policy nor a path is given.

    Raises:
        SecurityError: the policy or the log file can't be used, or only one of them is given.
    """
    if policy is None and path is None:
        return None
    if policy is None or path is None:
        raise SecurityError("--audit-policy-file and --audit-log-path need each other, and only one of them is given")
    try:
        rules = AuditPolicy.read(policy)
        if str(path) == "-":
            return AuditLog(rules, lambda line: print(line.decode(), end="", flush=True))  # noqa: T201
        path.open("ab").close()  # whether it can be written
    except AuditPolicyError as problem:
        raise SecurityError(f"--audit-policy-file {problem}") from None
    except OSError as problem:
        raise SecurityError(f"--audit-log-path {path}: {problem.strerror}") from None

    def write(line: bytes) -> None:
        try:
            with path.open("ab", buffering=0) as file:  # by name, so that a log may be rotated away
                file.write(line)
        except OSError as problem:  # a full disk ends no request
            _log.error("the audit log %s can't be written: %s", path, problem.strerror)

    return AuditLog(rules, write)


def _only_with_auth(security: Security) -> str:
    options = {
        "--client-ca-file": security.client_ca_file,
        "--token-auth-file": security.token_auth_file,
        "--oidc-issuer-url": security.oidc,
    }
    return next((name for name, value in options.items() if value is not None), "")


# -- certificates ------------------------------------------------------------------------------------------------------


def _certificate(security: Security, host: str, directory: Path | None) -> tuple[Pair, bytes, Pair | None]:
    """The serving certificate, the certificates that clients trust, and the authority if the server has made it
    itself.
    """
    certificate, key = security.tls_cert_file, security.tls_private_key_file
    if (certificate is None) != (key is None):
        raise SecurityError("--tls-cert-file and --tls-private-key-file need each other, and only one of them is given")
    if certificate is not None and key is not None:
        pair = Pair(_read(certificate, "--tls-cert-file"), _read(key, "--tls-private-key-file"))
        return pair, pair.certificate, None
    names = tuple(dict.fromkeys((*_NAMES, loopback_of(host), *security.tls_sans)))
    now = datetime.now(UTC)
    try:
        authority = _stored_pair(directory, "ca") or _keep(
            directory, "ca", make_authority("setpoint", now=now, lifetime=_LIFETIME)
        )
        serving = _stored_pair(directory, "apiserver")
        if serving is not None:
            facts = facts_of(serving.certificate)
            if facts.life_spent(now) > _RENEW or not set(names) <= facts.names:
                serving = None
        if serving is None:
            serving = _keep(directory, "apiserver", issue(authority, names, now=now, lifetime=_SERVING))
    except CertificateError as problem:
        raise SecurityError(str(problem)) from None
    return serving, authority.certificate, authority


def _stored_pair(directory: Path | None, name: str) -> Pair | None:
    if directory is None:
        return None
    certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
    try:
        pair = Pair(certificate.read_bytes(), key.read_bytes())
        if matches(pair):
            return pair
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SecurityError(f"{problem.filename}: {problem.strerror}") from None
    except CertificateError as problem:
        raise SecurityError(f"{certificate}: {problem}") from None
    raise SecurityError(f"{certificate} and {key} don't belong together; remove both, and new ones are created")


def _keep(directory: Path | None, name: str, pair: Pair) -> Pair:
    if directory is not None:
        _write(directory / f"{name}.key", pair.key)
        _write(directory / f"{name}.crt", pair.certificate)
    return pair


def _write(path: Path, content: bytes) -> None:
    """Writes a file atomically. Only its owner can read it."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new.touch(mode=0o600)
        new.write_bytes(content)
        new.replace(path)
    except OSError as problem:
        new.unlink(missing_ok=True)
        raise SecurityError(f"{path} can't be written: {problem.strerror}") from None


def _read(path: Path, flag: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise SecurityError(f"{flag} {path}: {problem.strerror}") from None


# -- tokens ------------------------------------------------------------------------------------------------------------


def _account_tokens(security: Security, directory: Path | None) -> AccountTokens:
    file = security.service_account_signing_key_file
    if file is not None:
        signing, name = _read(file, "--service-account-signing-key-file"), f"--service-account-signing-key-file {file}"
    else:
        key_file = None if directory is None else directory / "sa.key"
        name = str(key_file)
        if key_file is not None and key_file.exists():
            signing = _read(key_file, "the key of service accounts")
        else:
            signing = make_key()
            if key_file is not None:
                _write(key_file, signing)
    verifying: list[bytes] = []
    for path in security.service_account_key_files:
        verifying.append(_read(path, "--service-account-key-file"))
        try:
            PemKeys(signing, verifying[-1:])
        except BadKeyError as problem:
            _check_signing(signing, name)
            raise SecurityError(f"--service-account-key-file {path}: {problem}") from None
    _check_signing(signing, name)
    issuers = security.service_account_issuers or (AUDIENCE,)
    return AccountTokens(
        PemKeys(signing, verifying),
        issuers=issuers,
        audiences=security.api_audiences,
        webhooks=security.webhook_tokens,
    )


def _check_signing(pem: bytes, name: str) -> None:
    try:
        PemKeys(pem)
    except BadKeyError as problem:
        raise SecurityError(f"{name}: {problem}") from None


async def oidc_provider(options: OidcOptions) -> OidcProvider:
    """The provider with its keys, read from the file or fetched.

    Raises:
        SecurityError: a setting is invalid, or the keys can't be read or fetched.
    """
    if not options.issuer_url.startswith("https://"):
        raise SecurityError(f"--oidc-issuer-url {options.issuer_url}: the URL of a provider begins with https://")
    if not options.client_id:
        raise SecurityError(
            "--oidc-client-id is missing: it is the name of the client for which identity tokens are issued"
        )
    if wrong := set(options.signing_algorithms) - _ASYMMETRIC:
        listed = ", ".join(sorted(_ASYMMETRIC))
        raise SecurityError(f"--oidc-signing-algs: {', '.join(sorted(wrong))} is not one of {listed}")
    if options.jwks_file is not None:
        document = _read(options.jwks_file, "--oidc-jwks-file")
        keys = ProviderKeys(_keys(document, f"--oidc-jwks-file {options.jwks_file}"))
    else:
        keys = ProviderKeys(await _provided(options), lambda: _provided_again(options))
    return OidcProvider(
        options.issuer_url,
        options.client_id,
        keys,
        username_claim=options.username_claim,
        username_prefix=options.username_prefix,
        groups_claim=options.groups_claim,
        groups_prefix=options.groups_prefix,
        required_claims=options.required_claims,
        algorithms=options.signing_algorithms,
    )


def _keys(document: bytes, source: str) -> list[PublicKey]:
    try:
        return keys_of_jwks(document)
    except BadKeyError as problem:
        raise SecurityError(f"{source}: {problem}") from None


async def _provided(options: OidcOptions) -> list[PublicKey]:
    return _keys(await _fetched(options), f"--oidc-issuer-url {options.issuer_url}")


async def _provided_again(options: OidcOptions) -> list[PublicKey]:
    """The provider's current keys.

    Raises:
        BadKeyError: the keys can't be read or fetched.
    """
    try:
        return await _provided(options)
    except SecurityError as problem:
        raise BadKeyError(str(problem)) from None


def _trusting(options: OidcOptions) -> ssl.SSLContext:
    try:
        return client_context(options.ca_file.read_bytes() if options.ca_file is not None else None)
    except (OSError, ValueError) as problem:
        raise SecurityError(f"--oidc-ca-file {options.ca_file}: {problem}") from None


async def _fetched(options: OidcOptions) -> bytes:
    """The provider's key set, from the URL in its discovery document."""
    with needs_extra("server", "fetching keys of an OpenID Connect provider"):
        import aiohttp

    source = f"--oidc-issuer-url {options.issuer_url}"
    context = _trusting(options)
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session, asyncio.timeout(10):
            document: Any = {}
            async with session.get(f"{options.issuer_url.rstrip('/')}/.well-known/openid-configuration") as answer:
                answer.raise_for_status()
                document = await answer.json(content_type=None)
            if document.get("issuer") != options.issuer_url:
                raise SecurityError(f"{source}: the provider's issuer is {document.get('issuer')!r}")
            async with session.get(document["jwks_uri"]) as answer:
                answer.raise_for_status()
                return await answer.read()
    except TimeoutError:
        raise SecurityError(f"{source}: no answer in 10 s") from None
    except (aiohttp.ClientError, ValueError, KeyError, AttributeError) as problem:
        if isinstance(problem, SecurityError):
            raise
        raise SecurityError(f"{source}: the keys can't be fetched: {problem}") from None
