"""The tokens that ``serviceaccounts/NAME/token`` issues to service accounts; a token can be bound to an
object.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import msgspec

from setpoint.apiserver.errors import bad_request, conflict, invalid, not_found
from setpoint.apiserver.http_types import Response, UserInfo
from setpoint.apiserver.identity.keys import BadTokenError, TokenKeys, claims_of
from setpoint.apiserver.identity.users import CREDENTIAL, account_groups, account_name
from setpoint.apiserver.identity.webhook_tokens import (
    ATTESTED,
    CONFIGURATIONS,
    LIFETIME,
    attestation_errors,
    binding,
    is_configuration,
)
from setpoint.apiserver.objects.codec import decode, metadata_of
from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import fit_namespace, read_typed, typed
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.storage import Record, Storage
from setpoint.meta import GroupKind, GroupResource, GroupVersionKind, format_time, parse_time
from setpoint.meta.text_escaping import quote
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid as invalid_field

JsonObject = dict[str, Any]
AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
"""The default issuer and audience of tokens."""
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32
_DEFAULT: Final = 3600
_TRANSITIONAL: Final = 3607
"""The token lifetime, in seconds, requested for pods that predate expiring tokens; such a token is valid for a year,
with a warning after this time.
"""
_EXTENDED: Final = 365 * 24 * 3600
_LEEWAY: Final = 60.0
"""The tolerated difference between clocks, in seconds, as in upstream."""
_KIND: Final = GroupKind("authentication.k8s.io", "TokenRequest")
_REQUEST: Final = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_OWN: Final = ("kube-system", "webhook-auth")
"""The namespace and name of the service account as which this server calls webhooks."""
_RENEWED: Final = 60.0
"""Seconds before its expiry in which a token for webhooks is not sent any more."""
_PREFIX: Final = "authentication.kubernetes.io"


class _Reference(msgspec.Struct):
    """The object to which a token is bound, or the account that it names."""

    name: str | None = None
    uid: str | None = None


class _Private(msgspec.Struct, rename=str.lower):
    """The claims of Kubernetes in a token."""

    namespace: str | None = None
    serviceaccount: _Reference | None = None
    pod: _Reference | None = None
    node: _Reference | None = None
    secret: _Reference | None = None
    ValidatingWebhookConfiguration: _Reference | None = None
    MutatingWebhookConfiguration: _Reference | None = None
    attestations: dict[str, list[str]] | None = None


class _Claims(msgspec.Struct):
    """The claims that are read, with their types: a provider of keys may sign any others."""

    private: _Private | None = msgspec.field(default=None, name="kubernetes.io")
    aud: str | list[str] | None = None
    exp: float | None = None
    nbf: float | None = None
    iat: float | None = None
    jti: str | None = None


class AccountTokens:
    """Issues and verifies tokens of service accounts.

    ``issuers``: the issuers whose tokens are accepted; new tokens name the first one. ``audiences``: the audience names
    of this server; by default, only the first issuer. ``webhooks``: whether tokens can be bound to webhook
    configurations, and this server calls admission webhooks with such tokens (the feature gate
    APIServerWebhookAuthenticationToken).
    """

    def __init__(
        self,
        keys: TokenKeys,
        *,
        issuers: Sequence[str] = (AUDIENCE,),
        audiences: Sequence[str] = (),
        webhooks: bool = False,
    ) -> None:
        self.keys = keys
        self.issuers = tuple(issuers)
        self.audiences = tuple(audiences) or self.issuers[:1]
        self.webhooks = webhooks
        self._own: dict[tuple[str, str, str], tuple[float, str]] = {}

    @property
    def jwks(self) -> list[JsonObject]:
        """The public keys, as JSON web keys (RFC 7517); empty if a secret signs the tokens."""
        return self.keys.jwks

    @property
    def algorithms(self) -> list[str]:
        """The algorithms with which tokens are signed."""
        return self.keys.algorithms

    def sign(self, claims: JsonObject) -> str:
        return self.keys.sign({**claims, "iss": self.issuers[0]})

    def user_of(
        self, storage: Storage, now: datetime, token: str, audiences: Sequence[str]
    ) -> tuple[UserInfo, list[str]] | None:
        """The user of a token, and those of ``audiences`` for which it is valid. None if the token is not a JSON web
        token or comes from a different issuer.

        Raises:
            BadTokenError: the token is forged, expired or for other audiences, or the object to which it is bound no
                longer exists.
        """
        try:
            _, claims = claims_of(token)
        except BadTokenError:
            return None
        if claims.get("iss") not in self.issuers:
            return None
        claims = self.keys.verify(token)
        try:
            msgspec.convert(claims, _Claims)
        except msgspec.ValidationError as problem:
            raise BadTokenError(f"the claims of the token can't be read: {problem}") from None
        audiences_claim = claims.get("aud") or self.audiences
        audiences_claim = [audiences_claim] if isinstance(audiences_claim, str) else audiences_claim
        matching = [name for name in audiences_claim if name in audiences]
        if not matching:
            wanted = " ".join(map(quote, audiences))
            audience_text = " ".join(map(quote, audiences_claim))
            raise BadTokenError(f"token audiences [{audience_text}] is invalid for the target audiences [{wanted}]")
        _check_times(claims, now)
        private = claims.get("kubernetes.io") or {}
        if not self.webhooks and any(kind.lower() in private for kind in CONFIGURATIONS):
            raise BadTokenError(
                'feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound'
            )
        return _user(storage, now, claims), matching

    def webhook_token(
        self, storage: Storage, now: datetime, random: Random, webhook: tuple[str, str], audience: str
    ) -> str:
        """The token with which this server calls a webhook of ``webhook``, the kind and name of a configuration, for
        all API groups. Empty if tokens can't be bound to configurations, or if the configuration or the service account
        ``webhook-auth`` in ``kube-system`` does not exist.
        """
        if not self.webhooks:
            return ""
        kind, name = webhook
        account, configuration = storage.get("serviceaccounts", *_OWN), storage.get(CONFIGURATIONS[kind], "", name)
        if account is None or configuration is None:
            return ""
        account_uid, uid = metadata_of(account.value).uid, metadata_of(configuration.value).uid
        key, start = (account_uid, uid, audience), int(now.timestamp())
        until, token = self._own.get(key, (0.0, ""))
        if start >= until:
            self._own = {key: item for key, item in self._own.items() if start < item[0]}
            token = self.sign(
                {
                    "aud": [audience],
                    "exp": start + LIFETIME,
                    "iat": start,
                    "jti": new_uid(random),
                    "kubernetes.io": {
                        "namespace": _OWN[0],
                        "serviceaccount": {"name": _OWN[1], "uid": account_uid},
                        kind.lower(): {"name": name, "uid": uid},
                        "attestations": {ATTESTED: ["*"]},
                    },
                    "nbf": start,
                    "sub": account_name(*_OWN),
                }
            )
            self._own[key] = (start + LIFETIME - _RENEWED, token)
        return token


def create_token(call: Call) -> Response:
    """The response to POST serviceaccounts/NAME/token. Raises ApiStatusError."""
    tokens = call.state.account_tokens
    shape = Representation.negotiate(call, tables=False)
    options = WriteOptions.parse(call.query, "CreateOptions")
    request = read_typed(call, _REQUEST, options)
    if call.admission is not None:
        kind = ("authentication.k8s.io", "v1", "TokenRequest")
        request = call.admission.document(call.served, request, options, subresource="token", kind=kind)
        typed(request, _REQUEST, b"")
    path, spec, metadata = call.path, request.get("spec") or {}, request.get("metadata") or {}
    fit_namespace(call, metadata)
    if metadata.get("name") and metadata["name"] != path.name:
        reason = "must match the service account name if specified"
        raise invalid(_KIND, path.name, [invalid_field("metadata.name", metadata["name"], reason)])
    account = metadata_of(call.existing().value)
    if metadata.get("uid") and metadata["uid"] != account.uid:
        reason = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account"
        raise conflict(GroupResource(_KIND.group, _KIND.kind), path.name, f"{reason} ({account.uid})")
    seconds = spec.get("expirationSeconds")
    seconds = _DEFAULT if seconds is None else seconds
    bound = spec.get("boundObjectRef")
    audiences = spec.get("audiences") or list(tokens.audiences)
    if errors := _errors(seconds, bound, audiences, spec.get("attestations")):
        raise invalid(_KIND, "", errors)
    private: JsonObject = {"namespace": path.namespace, "serviceaccount": {"name": path.name, "uid": account.uid}}
    if is_configuration(bound) and tokens.webhooks:
        private |= binding(call, account.uid, spec | {"audiences": audiences})
        seconds = min(seconds, LIFETIME)
    elif bound is not None:
        private |= _bound(call, bound)
    now = call.now()
    start, lasts = int(now.timestamp()), seconds
    if "pod" in private and seconds == _TRANSITIONAL and set(audiences) <= set(tokens.audiences):
        private["warnafter"] = start + seconds
        lasts = _EXTENDED
    claims = {
        "aud": audiences,
        "exp": start + lasts,
        "iat": start,
        "jti": new_uid(call.random),
        "kubernetes.io": private,
        "nbf": start,
        "sub": account_name(path.namespace, path.name),
    }
    answer = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": path.name,
            "namespace": path.namespace,
            "uid": account.uid,
            "creationTimestamp": call.timestamp(),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": bound,
            **({"attestations": spec["attestations"]} if spec.get("attestations") else {}),
        },
        "status": {
            "token": tokens.sign(claims),
            "expirationTimestamp": format_time(now.replace(microsecond=0) + timedelta(seconds=seconds)),
        },
    }
    return shape.document(call, shape.item(call, msgspec.json.encode(answer)), status=201)


def _errors(
    seconds: int, bound: JsonObject | None, audiences: Sequence[str], attestations: JsonObject | None
) -> list[FieldError]:
    errors: list[FieldError] = []
    if seconds < _SHORTEST:
        reason = "may not specify a duration less than 10 minutes"
        errors.append(invalid_field("spec.expirationSeconds", seconds, reason))
    if seconds > _LONGEST:
        reason = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid_field("spec.expirationSeconds", seconds, reason))
    if is_configuration(bound):
        errors += attestation_errors(audiences, attestations)
    elif attestations:
        reason = "attestations may only be specified with a webhook bound object reference"
        return [invalid_field("spec.attestations", attestations, reason)]
    return errors


def _bound(call: Call, reference: JsonObject) -> JsonObject:
    """The token claims that name the object to which the token is bound."""
    group, _, version = (reference.get("apiVersion") or "").rpartition("/")
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    gvk = f"{group}/{version}, Kind={kind}"
    if (group, kind) not in (("", "Pod"), ("", "Secret"), ("", "Node")):
        if kind in CONFIGURATIONS and group == "admissionregistration.k8s.io":
            reason = "(feature gate APIServerWebhookAuthenticationToken is disabled)"
            raise bad_request(f"cannot bind token to object of type {gvk} {reason}")
        raise bad_request(f"cannot bind token to object of type {gvk}")
    if not name:
        raise bad_request("Name parameter required.")
    plural = f"{kind.lower()}s"
    record = call.storage.get(plural, "" if kind == "Node" else call.path.namespace, name)
    if record is None:
        raise not_found(GroupResource("", plural), name)
    uid = metadata_of(record.value).uid
    claims: JsonObject = {kind.lower(): {"name": name, "uid": uid}}
    if kind == "Pod":
        spec = decode(record.value).get("spec") or {}
        if spec.get("serviceAccountName", "") != call.path.name:
            prefix = f"cannot bind token for serviceaccount {quote(call.path.name)}"
            raise bad_request(f"{prefix} to pod running with different serviceaccount name.")
        if spec.get("nodeName"):
            node = call.storage.get("nodes", "", spec["nodeName"])
            node_uid = {"uid": metadata_of(node.value).uid} if node is not None else {}
            claims["node"] = {"name": spec["nodeName"], **node_uid}
    if reference.get("uid") and reference["uid"] != uid:
        reason = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
        reason += "The object might have been deleted and then recreated"
        raise conflict(GroupResource(group, kind), name, reason)
    return claims


def _check_times(claims: JsonObject, now: datetime) -> None:
    moment = now.timestamp()
    until, since, issued = claims.get("exp"), claims.get("nbf"), claims.get("iat")
    if since is not None and moment + _LEEWAY < since:
        raise BadTokenError("service account token is not valid yet")
    if until is not None and moment - _LEEWAY > until:
        raise BadTokenError("service account token has expired")
    if issued is not None and moment + _LEEWAY < issued:
        raise BadTokenError("service account token is issued in the future")


def _user(storage: Storage, now: datetime, claims: JsonObject) -> UserInfo:
    """The user for the service account that the claims name. Raises BadTokenError if the account, or the object
    to which the token is bound, no longer exists.
    """
    private = claims.get("kubernetes.io") or {}
    namespace, account = private.get("namespace") or "", private.get("serviceaccount") or {}
    name, uid = account.get("name") or "", account.get("uid") or ""
    record = storage.get("serviceaccounts", namespace, name)
    if record is None:
        raise BadTokenError(f"serviceaccounts {quote(name)} not found")
    stored = metadata_of(record.value)
    if stored.uid != uid:
        raise BadTokenError(f"service account UID ({stored.uid}) does not match claim ({uid})")
    if _is_past_deletion(record, now):
        raise BadTokenError(f"service account {namespace}/{name} has been deleted")
    extra: dict[str, tuple[str, ...]] = {}
    pod, node = private.get("pod"), private.get("node")
    for kind, reference in (("secret", private.get("secret")), ("pod", pod), ("node", None if pod else node)):
        if reference is not None:
            _check_bound(storage, now, kind, f"{kind}s", "" if kind == "node" else namespace, reference)
    for configuration, collection in CONFIGURATIONS.items():
        kind = configuration.lower()
        if (reference := private.get(kind)) is not None:
            _check_bound(storage, now, kind, collection, "", reference)
            extra[f"{_PREFIX}/{kind}-name"] = (reference["name"],)
            extra[f"{_PREFIX}/{kind}-uid"] = (reference["uid"],)
    for attestation, values in (private.get("attestations") or {}).items():
        extra[f"attestation.{_PREFIX}/{attestation}"] = tuple(values)
    if pod is not None:
        extra[f"{_PREFIX}/pod-name"] = (pod["name"],)
        extra[f"{_PREFIX}/pod-uid"] = (pod["uid"],)
    if claims.get("jti"):
        extra[CREDENTIAL] = (f"JTI={claims['jti']}",)
    if node is not None and node.get("name"):
        extra[f"{_PREFIX}/node-name"] = (node["name"],)
        if node.get("uid"):
            extra[f"{_PREFIX}/node-uid"] = (node["uid"],)
    return UserInfo(account_name(namespace, name), uid, account_groups(namespace), extra)


def _check_bound(
    storage: Storage, now: datetime, kind: str, collection: str, namespace: str, reference: JsonObject
) -> None:
    record = storage.get(collection, namespace, reference.get("name") or "")
    if record is None or _is_past_deletion(record, now):
        raise BadTokenError("service account token has been invalidated")
    uid, claimed = metadata_of(record.value).uid, reference.get("uid")
    if uid != claimed:
        raise BadTokenError(f"{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})")


def _is_past_deletion(record: Record, now: datetime) -> bool:
    """Whether the object's deletion time has passed by more than `_LEEWAY`."""
    moment = metadata_of(record.value).deletionTimestamp
    return moment is not None and (now - parse_time(moment)).total_seconds() > _LEEWAY
