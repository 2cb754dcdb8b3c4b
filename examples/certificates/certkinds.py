"""certkinds.py: Certificate and Issuer, as users write them."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

import setpoint as sp
from setpoint.crd import exactly_one_of

GROUP = "certs.example.com"

Usage = Literal[
    "digital signature", "key encipherment", "data encipherment", "key agreement", "server auth", "client auth",
    "code signing",
]  # fmt: skip
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
Contact = Annotated[str, sp.Field(max_length=256, pattern=r"^mailto:\S+$")]
DnsName = Annotated[str, sp.Field(max_length=253, pattern=rf"^(\*\.)?({LABEL}\.)*{LABEL}$")]
Address = Annotated[
    str, sp.Field(max_length=45, rules=[sp.ValidationRule(rule="isIP(self)", message="must be an IP address")])
]
Name = Annotated[str, sp.Field(min_length=1, max_length=253)]


class PrivateKey(
    sp.Model,
    rules=[
        sp.ValidationRule(
            rule="self.size in (self.algorithm == 'RSA' ? [2048, 3072, 4096] : [256, 384, 521])",
            message="size must be 256, 384 or 521 for ECDSA, 2048, 3072 or 4096 for RSA",
        )
    ],
):
    algorithm: Literal["ECDSA", "RSA"] = "ECDSA"
    size: int = 256
    rotation_policy: Literal["Always", "Never"] = "Always"
    """Whether each certificate gets a new key."""


class IssuerRef(sp.Model):
    name: Name


class CertificateSpec(
    sp.Model,
    rules=[
        sp.ValidationRule(
            rule="has(self.commonName) && self.commonName != '' || has(self.dnsNames) && self.dnsNames.size() > 0 || "
            "has(self.ipAddresses) && self.ipAddresses.size() > 0",
            message="at least one of commonName, dnsNames, ipAddresses is needed",
        ),
        sp.ValidationRule(rule="duration(self.duration) >= duration('1h')", message="duration must be 1h or longer"),
        sp.ValidationRule(
            rule="!has(self.renewBefore) || duration(self.renewBefore) >= duration('5m') && "
            "duration(self.renewBefore) < duration(self.duration)",
            message="renewBefore must be 5m or longer, and less than duration",
        ),
    ],
):
    secret_name: Name
    issuer_ref: IssuerRef
    common_name: Annotated[str, sp.Field(max_length=64)] = ""
    dns_names: Annotated[list[DnsName], sp.Field(max_length=100)] = []
    ip_addresses: Annotated[list[Address], sp.Field(max_length=100)] = []
    usages: list[Usage] = msgspec.field(default_factory=lambda: ["digital signature", "key encipherment"])
    is_ca: bool = msgspec.field(default=False, name="isCA")
    duration: sp.Duration = sp.Duration(days=90)
    renew_before: sp.Duration | None = None
    """The time from the renewal to the end of a certificate; a third of its life by default."""
    private_key: PrivateKey = PrivateKey()


class PlacedOrder(sp.Model):
    """The order of an ACME server that is under way."""

    url: str
    account: str
    wanted: str
    """The digest of the spec that it is for."""
    began: datetime
    answers: dict[str, str] = {}
    """By the tokens of its challenges; they are public."""


class CertificateStatus(sp.ConditionedStatus):
    not_before: datetime | None = None
    not_after: datetime | None = None
    renewal_time: datetime | None = None
    revision: int = 0
    order: PlacedOrder | None = None


class Certificate(
    sp.CustomResource,
    group=GROUP,
    version="v1",
    short_names=("cert",),
    columns=(
        sp.Column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
        sp.Column("Secret", ".spec.secretName"),
        sp.Column("Reason", ".status.conditions[?(@.type=='Ready')].reason"),
        sp.Column("Revision", ".status.revision"),
    ),
):
    """A certificate that is kept valid in a Secret."""

    spec: CertificateSpec
    status: CertificateStatus = CertificateStatus()


class SelfSigned(sp.Model):
    pass


class Authority(sp.Model):
    secret_name: Name


class Signer(sp.Model):
    name: Annotated[str, sp.Field(pattern=r"^[a-z0-9.-]+/[a-z0-9./-]+$", max_length=571)]


class AcmeServer(sp.Model):
    server: Annotated[str, sp.Field(pattern=r"^https?://[^/\s]+/\S*$", max_length=2048)]
    """The URL of its directory."""
    secret_name: Name
    """The Secret with the account's key, which is made if it is missing."""
    contact: Annotated[
        list[Annotated[str, sp.Field(pattern=r"^mailto:\S+$", max_length=256)]], sp.Field(max_length=5)
    ] = []


class IssuerSpec(sp.Model, rules=[exactly_one_of("selfSigned", "ca", "signer", "acme")]):
    self_signed: SelfSigned | None = None
    ca: Authority | None = None
    signer: Signer | None = None
    acme: AcmeServer | None = None


class IssuerStatus(sp.ConditionedStatus):
    account: str = ""
    """The URL of the account at the ACME server."""


class Issuer(
    sp.CustomResource,
    group=GROUP,
    version="v1",
    columns=(
        sp.Column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
        sp.Column("Message", ".status.conditions[?(@.type=='Ready')].message"),
    ),
):
    """A way to have certificates signed."""

    spec: IssuerSpec
    status: IssuerStatus = IssuerStatus()
