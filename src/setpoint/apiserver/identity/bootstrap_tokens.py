"""Bootstrap tokens: Secrets in ``kube-system`` with which new machines authenticate."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from datetime import datetime
from typing import Final

from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.storage import Storage
from setpoint.meta import parse_time

_TOKEN: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})", re.ASCII)
_GROUP: Final = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]", re.ASCII)
_DEFAULT_GROUP: Final = "system:bootstrappers"


def bootstrapper(storage: Storage, now: datetime, token: str) -> UserInfo | None:
    """The user of a bootstrap token; None if the token is of a different kind, unknown, expired, or not meant for
    authentication.
    """
    match = _TOKEN.fullmatch(token)
    record = None if match is None else storage.get("secrets", "kube-system", f"bootstrap-token-{match[1]}")
    if match is None or record is None:
        return None
    secret = decode(record.value)
    if secret["metadata"].get("deletionTimestamp") or secret.get("type") != "bootstrap.kubernetes.io/token":
        return None
    data = {key: _text(value) for key, value in (secret.get("data") or {}).items()}
    if data.get("token-id") != match[1] or data.get("usage-bootstrap-authentication") != "true":
        return None
    if not hmac.compare_digest(data.get("token-secret", "").encode(), match[2].encode()):
        return None
    if _expired(data.get("expiration", ""), now):
        return None
    groups = {_DEFAULT_GROUP, *filter(None, data.get("auth-extra-groups", "").split(","))}
    if not all(group == _DEFAULT_GROUP or _GROUP.fullmatch(group) for group in groups):
        return None
    return UserInfo(f"system:bootstrap:{match[1]}", groups=tuple(sorted(groups)))


def _text(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (ValueError, binascii.Error):
        return ""


def _expired(moment: str, now: datetime) -> bool:
    if not moment:
        return False
    try:
        return parse_time(moment) <= now
    except ValueError:
        return True
