"""Tokens of service accounts: JSON web tokens, given out on ``serviceaccounts/NAME/token`` and known again.

They are signed with a secret that lives as long as the server's process, so nobody else can check them but by a
TokenReview. Nothing is forbidden to anybody here; a token says only who its bearer is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from setpoint.apiserver.answers.representation import Representation, respond
from setpoint.apiserver.errors import invalid
from setpoint.apiserver.http_types import Response, UserInfo
from setpoint.apiserver.objects.codec import metadata_of
from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.incoming import read_typed, typed
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.state import State
from setpoint.meta import GroupKind, GroupVersionKind, format_time
from setpoint.schema.errors import invalid as invalid_field

__all__ = ["AUDIENCE", "bearer", "create_token"]

JsonObject = dict[str, Any]
AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32
_DEFAULT: Final = 3600
_KIND: Final = GroupKind("authentication.k8s.io", "TokenRequest")
_REQUEST: Final = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_HEADER: Final = b'{"alg":"HS256","typ":"JWT"}'


def create_token(call: Call) -> Response:
    """POST serviceaccounts/NAME/token. Raises ApiStatusError."""
    shape = Representation.negotiate(call)
    options = WriteOptions.parse(call.query, "CreateOptions")
    request = read_typed(call, _REQUEST)
    if call.admission is not None:
        kind = ("authentication.k8s.io", "v1", "TokenRequest")
        request = call.admission.document(call.served, request, options, subresource="token", kind=kind)
        typed(request, _REQUEST)
    spec = request.get("spec") or {}
    path = call.path
    record = call.existing()
    seconds = spec.get("expirationSeconds")
    seconds = _DEFAULT if seconds is None else seconds
    if seconds < _SHORTEST:
        raise _refused(seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST:
        raise _refused(seconds, "may not specify a duration larger than 2^32 seconds")
    account = metadata_of(record.value)
    audiences = spec.get("audiences") or [AUDIENCE]
    now = call.state.now()
    claims = {
        "aud": audiences,
        "exp": int(now.timestamp()) + seconds,
        "iat": int(now.timestamp()),
        "iss": AUDIENCE,
        "jti": new_uid(call.random),
        "kubernetes.io": {
            "namespace": path.namespace,
            "serviceaccount": {"name": path.name, "uid": account.uid},
        },
        "nbf": int(now.timestamp()),
        "sub": f"system:serviceaccount:{path.namespace}:{path.name}",
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
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {
            "token": _signed(call.state, claims),
            "expirationTimestamp": format_time(_seconds(now) + timedelta(seconds=seconds)),
        },
    }
    return respond(answer, 201, warnings=call.warnings, media=shape.media)


def _seconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def _refused(seconds: Any, why: str) -> Exception:
    return invalid(_KIND, "", [invalid_field("spec.expirationSeconds", seconds, why)])


def bearer(state: State, token: str, audiences: list[str] | None = None) -> tuple[UserInfo, list[str]] | None:
    """Whose token it is, and which of ``audiences`` (default: the server's own) it is for; None if it is not valid.

    It is not when it was signed elsewhere, has run out, is for others, or its account is gone.
    """
    claims = _checked(state, token)
    if claims is None or not claims["nbf"] <= state.now().timestamp() < claims["exp"]:
        return None
    wanted = [text for text in audiences or [AUDIENCE] if text in claims["aud"]]
    private = claims["kubernetes.io"]
    namespace, account = private["namespace"], private["serviceaccount"]
    record = state.storage.get("serviceaccounts", namespace, account["name"])
    if not wanted or record is None or metadata_of(record.value).uid != account["uid"]:
        return None
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
    return UserInfo(claims["sub"], account["uid"], groups, extra), wanted


def _signed(state: State, claims: JsonObject) -> str:
    text = f"{_encoded(_HEADER)}.{_encoded(msgspec.json.encode(claims))}"
    return f"{text}.{_encoded(_signature(state, text))}"


def _checked(state: State, token: str) -> Any:
    """The claims of a token that was signed here, else None."""
    text, _, signature = token.rpartition(".")
    try:
        good = hmac.compare_digest(_signature(state, text), _decoded(signature))
        return msgspec.json.decode(_decoded(text.partition(".")[2])) if good else None
    except (ValueError, binascii.Error):
        return None


def _signature(state: State, text: str) -> bytes:
    return hmac.digest(state.token_secret, text.encode(), hashlib.sha256)


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
