"""Whether a certificate and a private key belong together, in the words of Go's ``tls.X509KeyPair``."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from setpoint.apiserver.strategies.pem import blocks

_CERTIFICATE: Final = b"CERTIFICATE"
_KEY: Final = b"PRIVATE KEY"
_SWITCHED: Final = (
    "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have "
    "been switched"
)


def key_pair_problem(certificate: str, key: str) -> str:
    """The reason why the two, each PEM in base64, are not a pair; empty if they are one."""
    chain, skipped = _blocks(certificate, lambda kind: kind == _CERTIFICATE)
    if not chain:
        if not skipped:
            return "tls: failed to find any PEM data in certificate input"
        if len(skipped) == 1 and skipped[0].endswith(_KEY):
            return _SWITCHED
        return f'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping {_types(skipped)}'
    keys, skipped = _blocks(key, lambda kind: kind.endswith(_KEY))
    if not keys:
        if not skipped:
            return "tls: failed to find any PEM data in key input"
        if skipped == [_CERTIFICATE]:
            return "tls: found a certificate rather than a key in the PEM for the private key"
        block = 'PEM block with type ending in "PRIVATE KEY" in key input'
        return f"tls: failed to find {block} after skipping {_types(skipped)}"
    return _mismatch(chain[0], keys[0])


def _blocks(text: str, wanted: Callable[[bytes], bool]) -> tuple[list[bytes], list[bytes]]:
    """The contents of the wanted blocks, and the types of the others."""
    try:
        raw = base64.b64decode(text)
    except binascii.Error:
        raw = b""
    contents: list[bytes] = []
    others: list[bytes] = []
    for block in blocks(raw):
        if wanted(block.type):
            contents.append(block.content)
        else:
            others.append(block.type)
    return contents, others


def _types(skipped: list[bytes]) -> str:
    return f"PEM blocks of the following types: [{b' '.join(skipped).decode(errors='replace')}]"


def _mismatch(certificate: bytes, key: bytes) -> str:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key
    from cryptography.x509 import load_der_x509_certificate

    try:
        public = load_der_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        private = load_der_private_key(key, None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    if type(public) is not type(private):
        return "tls: private key type does not match public key type"
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    same = public.public_bytes(*form) == private.public_bytes(*form)
    return "" if same else "tls: private key does not match public key"
