"""CertificateSigningRequests: approved requests to the built-in signers of Kubernetes are signed, old ones deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.models.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestCondition
from setpoint.webhook.certificate_authority import CertificateError, Pair, facts_of, make_authority
from setpoint.webhook.csr_signing import RequestFacts, request_facts, sign_request

LIFETIME: Final = timedelta(days=365)
"""The lifetime of a certificate whose request does not ask for a shorter one."""
_AUTHORITY_LIFETIME: Final = timedelta(days=3650)
_DECIDED: Final = timedelta(hours=1)
_PENDING: Final = timedelta(hours=24)
_NODES: Final = "system:nodes"
_NODE: Final = "system:node:"
_CLIENT: Final = frozenset({"digital signature", "key encipherment", "client auth"})
_SERVING: Final = frozenset({"digital signature", "key encipherment", "server auth"})


class SigningRequests:
    """Signs approved requests for ``kubernetes.io/kube-apiserver-client``, ``…-client-kubelet``, ``kubelet-serving``
    and ``legacy-unknown`` with the cluster's authority.

    A request that its signer does not sign (wrong usages or subject) gets the condition ``Failed``. Requests for other
    signers are left alone.

    Args:
        authority: the authority whose certificates the server accepts from clients; with None, one is made for the
            first request.

    No request is approved here; `KubeletRequests` approves those of kubelets.
    """

    def __init__(self, authority: Pair | None = None) -> None:
        self._authority = authority
        self.controller = Controller(
            CertificateSigningRequest, self._reconcile, name="csrsigning", owns_status=False, leader_only=False
        )

    async def _reconcile(self, request: CertificateSigningRequest, ctx: Context) -> Outcome:
        status, spec = request.status, request.spec
        states = {condition.type for condition in status.conditions if condition.status in ("True", None)}
        check = SIGNERS.get(spec.signer_name)
        if check is None or status.certificate or "Approved" not in states or states & {"Denied", "Failed"}:
            return done()
        lifetime = LIFETIME if spec.expiration_seconds is None else timedelta(seconds=spec.expiration_seconds)
        try:
            facts = request_facts(spec.request)
            if wrong := check(facts, spec.usages):
                raise CertificateError(wrong)
            authority = self._authority
            if authority is None:
                authority = make_authority("setpoint", now=ctx.now(), lifetime=_AUTHORITY_LIFETIME)
                self._authority = authority
            status.certificate = sign_request(
                authority, spec.request, spec.usages, now=ctx.now(), lifetime=min(lifetime, LIFETIME)
            )
        except CertificateError as problem:
            failed = CertificateSigningRequestCondition(
                type="Failed", status="True", reason="SignerValidationFailure", message=str(problem)
            )
            status.conditions.append(failed)
        return done()


class OldSigningRequests:
    """Deletes old requests: signed requests one hour after their approval, denied or failed requests one hour after the
    denial or failure, requests without conditions one day after their creation, and any request whose certificate has
    expired.
    """

    def __init__(self) -> None:
        self.controller = Controller(
            CertificateSigningRequest, self._reconcile, name="csrcleaner", owns_status=False, leader_only=False
        )

    async def _reconcile(self, request: CertificateSigningRequest, ctx: Context) -> Outcome:
        until = _end_of(request)
        remaining = (until - ctx.now()).total_seconds() if until is not None else None
        if remaining is None:
            return done()
        if remaining > 0:
            return after(remaining, "the request is deleted after some time")
        await ctx.delete(request)
        return done()


def _end_of(request: CertificateSigningRequest) -> datetime | None:
    status, created_at = request.status, request.metadata.creation_timestamp
    if not status.conditions:
        return None if created_at is None else created_at + _PENDING
    ends = [
        since + _DECIDED
        for condition in status.conditions
        if (since := condition.last_update_time) is not None
        and (condition.type in ("Denied", "Failed") or (condition.type == "Approved" and status.certificate))
    ]
    if status.certificate:
        with suppress(CertificateError):  # of another signer, in a form of its own
            ends.append(facts_of(status.certificate).not_after)
    return min(ends, default=None)


# -- rules of signers: an empty text, or what is wrong, in upstream's order and words ----------------------------------


def _exactly(usages: Sequence[str], needed: frozenset[str]) -> str:
    """The reason for refusing these usages, or ``""`` if there is none. Kubelets ask for all usages; only keys other
    than RSA may omit key encipherment.
    """
    if set(usages) in (needed, needed - {"key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(sorted(needed))}]"


def _organization(facts: RequestFacts) -> str:
    return "" if facts.organizations == (_NODES,) else f"subject organization is not {_NODES}"


def _common_name(facts: RequestFacts) -> str:
    return "" if facts.common_name.startswith(_NODE) else f"subject common name does not begin with {_NODE}"


def _without(**names: tuple[str, ...]) -> str:
    """The reason for refusing alternative names of the first kind that has any."""
    return next((f"{kind} subjectAltNames are not allowed" for kind, values in names.items() if values), "")


def _of_client(_facts: RequestFacts, usages: Sequence[str]) -> str:
    other = next((usage for usage in usages if usage not in _CLIENT), "")
    if other:
        return f"invalid usage for client certificate: {other}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def _of_kubelet_client(facts: RequestFacts, usages: Sequence[str]) -> str:
    names = _without(DNS=facts.dns_names, Email=facts.emails, IP=facts.addresses, URI=facts.uris)
    return _organization(facts) or names or _common_name(facts) or _exactly(usages, _CLIENT)


def _of_kubelet_serving(facts: RequestFacts, usages: Sequence[str]) -> str:
    missing = "" if facts.dns_names or facts.addresses else "DNS or IP subjectAltName is required"
    names = missing or _without(Email=facts.emails, URI=facts.uris)
    return _organization(facts) or names or _exactly(usages, _SERVING) or _common_name(facts)


SIGNERS: Final[dict[str, Callable[[RequestFacts, Sequence[str]], str]]] = {
    "kubernetes.io/kube-apiserver-client": _of_client,
    "kubernetes.io/kube-apiserver-client-kubelet": _of_kubelet_client,
    "kubernetes.io/kubelet-serving": _of_kubelet_serving,
    "kubernetes.io/legacy-unknown": lambda _facts, _usages: "",
}
