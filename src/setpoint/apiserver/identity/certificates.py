"""The users of client certificates: the common name is the user's name, and the organizations are the groups."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.identity.users import CREDENTIAL

_UID: Final = "1.3.6.1.4.1.57683.2"
"""The object identifier of the subject attribute that holds a user's uid, as Kubernetes defines it."""


def certified(certificate: Mapping[str, Any] | None, der: bytes | None) -> UserInfo | None:
    """The user of a client certificate that was verified when the connection was made.

    ``certificate`` and ``der`` are the results of ``ssl.SSLObject.getpeercert``. The user is None if there
    is no certificate or the certificate has no common name.
    """
    if not certificate or der is None:
        return None
    parts = [part for name in certificate.get("subject", ()) for part in name]
    names = [value for key, value in parts if key == "commonName"]
    if not names or not names[-1]:
        return None
    uids = [value for key, value in parts if key == _UID]
    groups = tuple(value for key, value in parts if key == "organizationName")
    extra = {CREDENTIAL: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)}
    return UserInfo(names[-1], uids[-1] if uids else "", groups, extra)
