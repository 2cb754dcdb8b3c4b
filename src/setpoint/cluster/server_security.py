"""TLS and authentication of an embedded cluster's server."""

from __future__ import annotations

import logging
import secrets
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from setpoint.apiserver import AccountTokens, Authentication, UserInfo
from setpoint.apiserver.audit.log import AuditLog
from setpoint.apiserver.audit.policy import AuditPolicy, AuditPolicyError
from setpoint.apiserver.http.allowed_hosts import loopback_of
from setpoint.apiserver.identity.keys import BadKeyError, PemKeys, make_key
from setpoint.apiserver.identity.static_tokens import read_tokens
from setpoint.apiserver.identity.tokens import AUDIENCE
from setpoint.apiserver.webhooks.admission_configuration import webhook_users
from setpoint.apiserver.webhooks.credentials import CredentialsError, WebhookUsers
from setpoint.cluster.oidc_options import OidcOptions, oidc_provider
from setpoint.cluster.security_files import SecurityError, keep_pair, read_file, stored_pair, write_file
from setpoint.trust import certificates_only
from setpoint.webhook.certificate_authority import CertificateError, Pair, facts_of, issue, make_authority
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


class Security(msgspec.Struct, frozen=True):
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


class Secured(msgspec.Struct, frozen=True):
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
    file = security.client_ca_file
    client_ca_option = None if file is None else read_file(file, "--client-ca-file")
    try:
        ServerTls(client_ca_option)  # by itself, so that what is wrong with the file is said
        client_ca = certificates_only(client_ca_option or b"")
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
        pair = Pair(read_file(certificate, "--tls-cert-file"), read_file(key, "--tls-private-key-file"))
        return pair, certificates_only(pair.certificate), None
    names = tuple(dict.fromkeys((*_NAMES, loopback_of(host), *security.tls_sans)))
    now = datetime.now(UTC)
    try:
        authority = stored_pair(directory, "ca") or keep_pair(
            directory, "ca", make_authority("setpoint", now=now, lifetime=_LIFETIME)
        )
        serving = stored_pair(directory, "apiserver")
        if serving is not None:
            facts = facts_of(serving.certificate)
            if facts.life_spent(now) > _RENEW or not set(names) <= facts.names:
                serving = None
        if serving is None:
            serving = keep_pair(directory, "apiserver", issue(authority, names, now=now, lifetime=_SERVING))
    except CertificateError as problem:
        raise SecurityError(str(problem)) from None
    return serving, authority.certificate, authority


# -- tokens ------------------------------------------------------------------------------------------------------------


def _account_tokens(security: Security, directory: Path | None) -> AccountTokens:
    file = security.service_account_signing_key_file
    if file is not None:
        name = f"--service-account-signing-key-file {file}"
        signing = read_file(file, "--service-account-signing-key-file")
    else:
        key_file = None if directory is None else directory / "sa.key"
        name = str(key_file)
        if key_file is not None and key_file.exists():
            signing = read_file(key_file, "the key of service accounts")
        else:
            signing = make_key()
            if key_file is not None:
                write_file(key_file, signing)
    verifying: list[bytes] = []
    for path in security.service_account_key_files:
        verifying.append(read_file(path, "--service-account-key-file"))
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
