"""The flags of ``setpoint server`` for TLS and users. Most have the same names as in kube-apiserver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Group, Parameter

from setpoint.apps.error_reports import UsageError

if TYPE_CHECKING:
    from setpoint.cluster.server_security import Security

_GROUP = Group("TLS and users", sort_key=2)
_GATES: Final = {f"APIServerWebhookAuthenticationToken={value}": value == "true" for value in ("true", "false")}
_PLUGINS: Final = ("OwnerReferencesPermissionEnforcement",)
_Switch = Annotated[bool, Parameter(negative="")]
_Files = Annotated[tuple[Path, ...], Parameter(negative_iterable="")]
_Texts = Annotated[tuple[str, ...], Parameter(negative_iterable="")]


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class SecurityFlags:
    """TLS and users of the server.

    Parameters
    ----------
    http
        Serve plain HTTP instead of HTTPS.
    auth
        Authenticate users and authorize them by roles (RBAC), as a cluster does. The kubeconfig is an administrator's.
    tls_cert_file
        The serving certificate (PEM). Without it the server makes one, signed by a CA that the kubeconfig trusts.
    tls_private_key_file
        The private key of the serving certificate (PEM).
    tls_san
        A further name or address that is in the certificate that the server makes, such as the name of its container;
        repeatable.
    client_ca_file
        With --auth: the CA for client certificates (common name: the user; organizations: the groups).
    token_auth_file
        With --auth: tokens, in lines of token,user,uid,"group1,group2".
    service_account_issuer
        The issuer of service-account tokens; repeatable, to accept tokens of further issuers, too.
    service_account_key_file
        A key (PEM) with which service-account tokens are verified; repeatable.
    service_account_signing_key_file
        The private key that signs service-account tokens. Without it the server makes one.
    api_audiences
        An audience that this server accepts in service-account tokens (default: the issuer); repeatable.
    anonymous_auth
        With --auth: treat requests without credentials as those of system:anonymous, instead of refusing them.
    audit_policy_file
        With --audit-log-path: the audit policy (audit.k8s.io/v1) that says which requests are logged.
    audit_log_path
        The file to which the audit log is appended, one JSON event per line.
    admission_control_config_file
        The AdmissionConfiguration (apiserver.config.k8s.io/v1) whose kubeConfigFile has the credentials with which
        the server calls admission webhooks.
    feature_gates
        APIServerWebhookAuthenticationToken=true: issue tokens that are bound to webhook configurations (KEP-6060), and
        call admission webhooks with them.
    enable_admission_plugins
        With --auth: OwnerReferencesPermissionEnforcement, which OpenShift has on: only users who may update an owner's
        finalizers refer to it with blockOwnerDeletion.
    oidc_issuer_url
        With --auth: the URL of an OpenID Connect provider whose ID tokens are accepted.
    oidc_client_id
        The client ID for which ID tokens must have been issued.
    oidc_jwks_file
        The provider's keys (a JSON web key set). Without it they are fetched from the provider at the start.
    oidc_ca_file
        The CA for the provider's certificate, instead of the system's.
    oidc_username_claim
        The claim that names the user.
    oidc_username_prefix
        The prefix of user names; '-' for none. By default it is ISSUER#, unless the claim is email.
    oidc_groups_claim
        The claim that names the groups.
    oidc_groups_prefix
        The prefix of groups.
    oidc_required_claim
        A claim, as NAME=VALUE, that a token must have; repeatable.
    oidc_signing_algs
        The algorithms with which ID tokens may be signed, separated by commas.
    """

    http: _Switch = False
    auth: _Switch = False
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    tls_san: _Texts = ()
    client_ca_file: Path | None = None
    token_auth_file: Path | None = None
    service_account_issuer: _Texts = ()
    service_account_key_file: _Files = ()
    service_account_signing_key_file: Path | None = None
    api_audiences: _Texts = ()
    anonymous_auth: bool = True
    audit_policy_file: Path | None = None
    audit_log_path: Path | None = None
    admission_control_config_file: Path | None = None
    feature_gates: _Texts = ()
    enable_admission_plugins: _Texts = ()
    oidc_issuer_url: str = ""
    oidc_client_id: str = ""
    oidc_jwks_file: Path | None = None
    oidc_ca_file: Path | None = None
    oidc_username_claim: str = "sub"
    oidc_username_prefix: str | None = None
    oidc_groups_claim: str = ""
    oidc_groups_prefix: str = ""
    oidc_required_claim: _Texts = ()
    oidc_signing_algs: str = "RS256"

    def security(self) -> Security | None:
        """The security settings of the server; None for plain HTTP. Raises `UsageError` if ``--http`` is combined with
        other flags of this group, a required claim is not of the form ``NAME=VALUE``, or a gate can't be changed.
        """
        from setpoint.cluster.oidc_options import OidcOptions
        from setpoint.cluster.server_security import Security

        if self.http:
            if replace(self, http=False) != SecurityFlags():
                raise UsageError(
                    "--http serves every client in plain HTTP, so it can't be combined with flags about TLS or users"
                )
            return None
        for gate in self.feature_gates:
            if gate not in _GATES:
                raise UsageError(f"--feature-gates {gate}: the gates that can be set here are {' and '.join(_GATES)}")
        for plugin in self.enable_admission_plugins:
            if plugin not in _PLUGINS:
                raise UsageError(
                    f"--enable-admission-plugins {plugin}: the plugin that can be turned on is {_PLUGINS[0]}"
                )
            if not self.auth:
                raise UsageError(f"--enable-admission-plugins {plugin}: without --auth every user may do everything")
        oidc = None
        if self.oidc_issuer_url:
            claims: dict[str, str] = {}
            for text in self.oidc_required_claim:
                name, equals, value = text.partition("=")
                if not equals or not name:
                    raise UsageError(f"--oidc-required-claim {text}: give it as NAME=VALUE")
                claims[name] = value
            oidc = OidcOptions(
                self.oidc_issuer_url,
                self.oidc_client_id,
                jwks_file=self.oidc_jwks_file,
                ca_file=self.oidc_ca_file,
                username_claim=self.oidc_username_claim,
                username_prefix=self.oidc_username_prefix,
                groups_claim=self.oidc_groups_claim,
                groups_prefix=self.oidc_groups_prefix,
                required_claims=claims,
                signing_algorithms=tuple(name.strip() for name in self.oidc_signing_algs.split(",")),
            )
        return Security(
            auth=self.auth,
            tls_cert_file=self.tls_cert_file,
            tls_private_key_file=self.tls_private_key_file,
            tls_sans=self.tls_san,
            client_ca_file=self.client_ca_file,
            token_auth_file=self.token_auth_file,
            service_account_issuers=self.service_account_issuer,
            service_account_key_files=self.service_account_key_file,
            service_account_signing_key_file=self.service_account_signing_key_file,
            api_audiences=self.api_audiences,
            oidc=oidc,
            anonymous_auth=self.anonymous_auth,
            audit_policy_file=self.audit_policy_file,
            audit_log_path=self.audit_log_path,
            admission_control_config_file=self.admission_control_config_file,
            webhook_tokens=bool(self.feature_gates) and _GATES[self.feature_gates[-1]],
            plugins_on=self.enable_admission_plugins,
        )
