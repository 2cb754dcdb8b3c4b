"""PKCS#10 certificate requests in CertificateSigningRequests (PEM) and in PodCertificateRequests (DER)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from setpoint.schema import FieldError
from setpoint.schema.errors import OMITTED, invalid, too_long

_BLOCK: Final = re.compile(rb"-----BEGIN ([^\r\n-]+)-----[ \t]*\r?\n(.*?)-----END \1-----", re.DOTALL)
_LONGEST: Final = 10 * 1024
_CURVES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521", "secp224r1": "P-224"}
_MODULI: Final = (3072, 4096)


def signing_request_errors(text: str, path: str) -> list[FieldError]:
    """The errors in ``spec.request`` of a CertificateSigningRequest: a PEM block in base64, signed with the request's
    own key.
    """
    der = _first_block(_decoded(text))
    if der is None:
        return [invalid(path, text or None, "PEM block type must be CERTIFICATE REQUEST")]
    request = _parsed(der)
    if isinstance(request, str):
        return [invalid(path, text, f"x509: {request}")]
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        signed = request.is_signature_valid
    except (ValueError, UnsupportedAlgorithm):
        signed = False
    return [] if signed else [invalid(path, text, "x509: the signature is not by the key in the request")]


def pod_request_errors(text: str, path: str) -> list[FieldError]:
    """The errors in ``spec.stubPKCS10Request`` of a PodCertificateRequest, which is DER in base64. If
    the request is well-formed, only its key is checked.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    der = _decoded(text)
    if len(der) > _LONGEST:
        return [too_long(path, _LONGEST)]
    request = _parsed(der)
    if isinstance(request, str):
        return [invalid(path, OMITTED, "must be a valid PKCS#10 CSR")]
    try:
        key: Any = request.public_key()
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size in _MODULI:
            return []
        return [invalid(path, f"{key.key_size}-bit modulus", "RSA keys must have modulus size 3072 or 4096")]
    if isinstance(key, ec.EllipticCurvePublicKey):
        curve = _CURVES.get(key.curve.name, key.curve.name)
        if curve in ("P-256", "P-384", "P-521"):
            return []
        return [invalid(path, f"curve {curve}", "elliptic public keys must use curve P256, P384, or P521")]
    if isinstance(key, ed25519.Ed25519PublicKey):
        return []
    return [invalid(path, OMITTED, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")]


def _decoded(text: str) -> bytes:
    """The decoded bytes; empty for invalid base64, which has already been refused."""
    try:
        return base64.b64decode(text)
    except (ValueError, binascii.Error):
        return b""


def _first_block(pem: bytes) -> bytes | None:
    """The contents of the first PEM block that can be decoded; None if there is none, or if it has a different type."""
    for match in _BLOCK.finditer(pem):
        try:
            der = base64.b64decode(b"".join(match[2].split()), validate=True)
        except binascii.Error:
            continue
        return der if match[1] == b"CERTIFICATE REQUEST" else None
    return None


def _parsed(der: bytes) -> Any:
    """The parsed request, or the error as a string."""
    from cryptography import x509

    try:
        return x509.load_der_x509_csr(der)
    except ValueError as problem:
        return str(problem).partition("\n")[0]
