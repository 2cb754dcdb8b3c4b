"""The clients that may call admission webhooks: with a certificate, with an API server's token, or any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from setpoint.serving import HttpRequest, Reply
from setpoint.webhook.caller_tokens import CallerTokens
from setpoint.webhook.webhooks import failed

_NO_CERTIFICATE: Final = (
    "this webhook takes reviews only from API servers with a client certificate: set kubeConfigFile for its plugin in "
    "the API server's --admission-control-config-file"
)
_NO_CREDENTIAL: Final = (
    "this webhook takes reviews only from API servers with a token that is bound to its configuration (KEP-6060); if "
    "API servers send none yet, start the webhook with --webhook-tokens=verify"
)


class AllowedCallers(msgspec.Struct, frozen=True, kw_only=True):
    """The clients whose AdmissionReviews a `WebhookServer` answers. By default, any client that reaches it.

    API servers send no credentials with ConversionReviews, and kubelets none with probes, so these are answered in
    any case. Both conditions have to hold if both are given.

    Args:
        client_ca: PEM; a client must present a certificate that one of these authorities has signed. It is checked in
            the TLS handshake: the connection of a client with a certificate of another authority fails.
        client_names: common names, one of which the certificate must have; empty for any, as with kube-apiserver's
            ``--requestheader-allowed-names``. Of several common names the last one counts, as in Go's ``crypto/x509``.
        tokens: verifies bearer tokens. None ignores them.
    """

    client_ca: bytes | None = None
    client_names: Sequence[str] = ()
    tokens: CallerTokens | None = None

    def refusal(self, request: HttpRequest) -> Reply | None:
        """The refusal of a request whose body has not been read, because of its certificate, or because its token is
        missing; None if it has both. A token is not verified here.
        """
        if self.client_ca is not None:
            if request.certificate is None:
                return failed(401, "Unauthorized", _NO_CERTIFICATE)
            name = _common_name(request.certificate)
            if self.client_names and (not name or name not in self.client_names):
                text = f"the client certificate is that of {name[:200]!r}, which is not among --webhook-client-name"
                return failed(403, "Forbidden", text)
        if self.tokens is not None and self.tokens.required and not bearer_token(request):
            return failed(401, "Unauthorized", _NO_CREDENTIAL)
        return None


def bearer_token(request: HttpRequest) -> str:
    """The bearer token of a request; empty if it has none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _common_name(certificate: Mapping[str, Any]) -> str:
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return str(names[-1]) if names else ""
