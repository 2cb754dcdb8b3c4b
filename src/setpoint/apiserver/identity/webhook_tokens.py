"""Tokens that are bound to webhook configurations, with which API servers identify themselves to admission webhooks
(KEP-6060; feature gate APIServerWebhookAuthenticationToken, alpha in Kubernetes 1.37).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.errors import bad_request, conflict
from setpoint.apiserver.errors import forbidden as forbidden_object
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.identity.users import account_groups, account_name
from setpoint.apiserver.objects.codec import decode, metadata_of
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.storage import Record
from setpoint.meta import GroupResource, parse_time
from setpoint.meta.names import dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid as invalid_field
from setpoint.schema.errors import not_supported

JsonObject = dict[str, Any]
ATTESTED: Final = "admissionReviewAPIGroups"
"""The attestation, and the resource that a service account must be allowed to ``attest``."""
CONFIGURATIONS: Final = {
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations.admissionregistration.k8s.io",
}
"""The kinds to which tokens can be bound, with their collections."""
LIFETIME: Final = 600
"""The longest lifetime of a token, in seconds."""
_VERSION: Final = "admissionregistration.k8s.io/v1"


def is_configuration(reference: JsonObject | None) -> bool:
    """Whether a ``boundObjectRef`` refers to a webhook configuration."""
    return reference is not None and reference.get("kind") in CONFIGURATIONS and reference.get("apiVersion") == _VERSION


def attestation_errors(audiences: Sequence[str], attestations: JsonObject | None) -> list[FieldError]:
    """The errors in a TokenRequest that is bound to a webhook configuration."""
    errors: list[FieldError] = []
    if len(audiences) != 1:
        reason = "must be length 1 when bound to a webhook config"
        errors.append(invalid_field("spec.audiences", list(audiences), reason))
    field = "spec.attestations"
    if attestations is None or len(attestations) != 1:
        reason = f"webhook bound requests require exactly one {ATTESTED} attestation"
        return [*errors, invalid_field(field, attestations, reason)]
    ((key, values),) = attestations.items()
    field = f"{field}[{key}]"
    if key != ATTESTED:
        return [*errors, not_supported(field, key, [ATTESTED])]
    if len(values or ()) != 1:
        return [*errors, invalid_field(field, values or [], "must specify a single value")]
    group, field = values[0], f"{field}[0]"
    if not group:
        errors.append(invalid_field(field, group, "may not be an empty string"))
    elif group != "*":
        reasons = dns1123_subdomain(group)
        errors += [invalid_field(field, group, f"must specify a valid API Group: {reason}") for reason in reasons]
    return errors


def binding(call: Call, account: str, spec: JsonObject) -> JsonObject:
    """The claims of a token that binds it to a webhook configuration.

    Raises:
        ApiStatusError: 400 if the audience is this server's; 403 if ``account`` may not attest the group, or if no
            webhook of the configuration has this audience and a rule for the group; 409 for another ``uid``.
    """
    reference, audience = spec["boundObjectRef"], spec["audiences"][0]
    group = spec["attestations"][ATTESTED][0]
    state = call.state
    if audience in state.account_tokens.audiences:
        raise bad_request("api server audiences are invalid for webhook token requests")
    namespace, name = call.path.namespace, call.path.name
    user = UserInfo(account_name(namespace, name), account, account_groups(namespace))
    state.check(Attributes(user, "attest", "authentication.k8s.io", "*", ATTESTED, name=group))
    kind = reference["kind"]
    record = call.storage.get(CONFIGURATIONS[kind], "", reference.get("name") or "")
    if record is None or _is_deleted(call, record) or not _covers(record, audience, group):
        # the same answer in all cases: it must not tell which configurations there are
        raise forbidden_object(GroupResource("", "serviceaccounts/token"), name, "token request denied")
    uid = metadata_of(record.value).uid
    if reference.get("uid") and reference["uid"] != uid:
        reason = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
        reason += "The object might have been deleted and then recreated"
        raise conflict(GroupResource("admissionregistration.k8s.io", kind), record.name, reason)
    return {kind.lower(): {"name": record.name, "uid": uid}, "attestations": {ATTESTED: [group]}}


def _is_deleted(call: Call, record: Record) -> bool:
    moment = metadata_of(record.value).deletionTimestamp
    return moment is not None and call.now() > parse_time(moment)


def _covers(record: Record, audience: str, group: str) -> bool:
    if group == "*":  # as upstream: the audience of such a token is not checked
        return True
    for webhook in decode(record.value).get("webhooks") or ():
        groups = {name for rule in webhook.get("rules") or () for name in rule.get("apiGroups") or ()}
        if not groups.isdisjoint(("*", group)) and audience == _audience(webhook["clientConfig"]):
            return True
    return False


def _audience(config: JsonObject) -> str:
    service = config.get("service")
    if not service:
        return str(config.get("url", ""))
    path = service.get("path") or "/"
    path = path if path.startswith("/") else f"/{path}"
    return f"https://{service['name']}.{service['namespace']}.svc:{service.get('port') or 443}{path}"
