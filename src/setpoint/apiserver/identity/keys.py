"""Keys of JSON web tokens (RFC 7515 to 7519), which sign this server's tokens or verify tokens from other issuers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

__all__ = [
    "BadKeyError",
    "BadTokenError",
    "PemKeys",
    "PublicKey",
    "SecretKey",
    "TokenKeys",
    "check_signature",
    "claims_of",
    "keys_of_jwks",
    "make_key",
]

JsonObject = dict[str, Any]
_RSA: Final = {"RS256": "SHA256", "RS384": "SHA384", "RS512": "SHA512"}
_PSS: Final = {"PS256": "SHA256", "PS384": "SHA384", "PS512": "SHA512"}
_CURVES: Final = {
    "ES256": ("secp256r1", "SHA256", 32),
    "ES384": ("secp384r1", "SHA384", 48),
    "ES512": ("secp521r1", "SHA512", 66),
}
"""The curve, the hash, and the length in bytes of half a signature, for each algorithm."""
_SECRET_HEADER: Final = b'{"alg":"HS256","typ":"JWT"}'
_FORGED: Final = "go-jose/go-jose: error in cryptographic primitive"
"""Upstream's message for a signature made with an unknown key."""


class BadKeyError(ValueError):
    """A key can't be used; the message gives the reason, in words that can follow the name of a file."""


class BadTokenError(ValueError):
    """The token is not valid: it is not a JSON web token, no known key signed it, or its claims do not allow
    its use.
    """


class TokenKeys(Protocol):
    """The keys that sign this server's tokens and verify them."""

    def sign(self, claims: JsonObject) -> str: ...
    def verify(self, token: str) -> JsonObject:
        """The claims of a token that was signed by one of these keys. Raises BadTokenError."""
        ...

    @property
    def jwks(self) -> list[JsonObject]:
        """The public keys, as JSON web keys (RFC 7517); empty if a secret signs the tokens."""
        ...

    @property
    def algorithms(self) -> list[str]: ...


class SecretKey:
    """HMAC with a secret that no other process has, so only this process can verify the tokens."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @property
    def jwks(self) -> list[JsonObject]:
        return []

    @property
    def algorithms(self) -> list[str]:
        return ["HS256"]

    def sign(self, claims: JsonObject) -> str:
        text = f"{_encoded(_SECRET_HEADER)}.{_encoded(msgspec.json.encode(claims))}"
        return f"{text}.{_encoded(self._signature(text))}"

    def verify(self, token: str) -> JsonObject:
        text, _, signature = token.rpartition(".")
        header, claims = claims_of(token)
        if header.get("alg") != "HS256" or not hmac.compare_digest(self._signature(text), _decoded(signature)):
            raise BadTokenError(_FORGED)
        return claims

    def _signature(self, text: str) -> bytes:
        return hmac.digest(self._secret, text.encode(), hashlib.sha256)


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key. ``key`` is a key object of the cryptography package, and ``id`` is the name of the
    key in tokens.

    ``algorithm`` is the only signature algorithm that is accepted; if it is empty, every algorithm that
    fits the key is accepted.
    """

    key: Any
    id: str = ""
    algorithm: str = ""

    def check(self, algorithm: str, text: bytes, signature: bytes) -> bool:
        """Whether the signature was made with this key."""
        if self.algorithm and self.algorithm != algorithm:
            return False
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

        key = self.key
        try:
            if isinstance(key, rsa.RSAPublicKey) and algorithm in _RSA | _PSS:
                digest = getattr(hashes, (_RSA | _PSS)[algorithm])()
                pad: Any = padding.PKCS1v15()
                if algorithm in _PSS:
                    pad = padding.PSS(padding.MGF1(digest), digest.digest_size)
                key.verify(signature, text, pad, digest)
                return True
            curve = _CURVES.get(algorithm)
            if isinstance(key, ec.EllipticCurvePublicKey) and curve is not None and key.curve.name == curve[0]:
                half = curve[2]
                if len(signature) != 2 * half:
                    return False
                pair = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
                key.verify(utils.encode_dss_signature(*pair), text, ec.ECDSA(getattr(hashes, curve[1])()))
                return True
            if isinstance(key, ed25519.Ed25519PublicKey) and algorithm == "EdDSA":
                key.verify(signature, text)
                return True
        except InvalidSignature:
            return False
        return False

    def jwk(self) -> JsonObject:
        """The key as a JSON web key (RFC 7517)."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        common = {"use": "sig", "kid": self.id, "alg": _algorithm(self.key)}
        numbers = self.key.public_numbers()
        if isinstance(self.key, rsa.RSAPublicKey):
            return {**common, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        size = math.ceil(self.key.curve.key_size / 8)
        names = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
        point = {"x": _number(numbers.x, size), "y": _number(numbers.y, size)}
        return {**common, "kty": "EC", "crv": names[self.key.curve.name], **point}


class PemKeys:
    """RSA or ECDSA keys in PEM. ``signing`` is a private key. Each item of ``verifying`` is the contents of a PEM file;
    signatures that match a public key, private key or certificate in it are also accepted.

    Raises:
        BadKeyError: a key can't be read.
    """

    def __init__(self, signing: bytes, verifying: Sequence[bytes] = ()) -> None:
        self._private = _private(signing)
        own = _identified(self._private.public_key())
        known = {own.id: own}
        for pem in verifying:
            for key in _publics(pem):
                known[key.id] = key
        self._id = own.id
        self._known = known

    @property
    def jwks(self) -> list[JsonObject]:
        return [key.jwk() for key in self._known.values()]

    @property
    def algorithms(self) -> list[str]:
        return sorted({_algorithm(key.key) for key in self._known.values()}, reverse=True)

    def sign(self, claims: JsonObject) -> str:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

        name = _algorithm(self._private.public_key())
        header = msgspec.json.encode({"alg": name, "kid": self._id})
        text = f"{_encoded(header)}.{_encoded(msgspec.json.encode(claims))}"
        curve = _CURVES.get(name)
        if curve is None:
            made = self._private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        else:
            signed = self._private.sign(text.encode(), ec.ECDSA(getattr(hashes, curve[1])()))
            made = b"".join(part.to_bytes(curve[2], "big") for part in utils.decode_dss_signature(signed))
        return f"{text}.{_encoded(made)}"

    def verify(self, token: str) -> JsonObject:
        header, claims = claims_of(token)
        check_signature(token, header, list(self._known.values()))
        return claims


def check_signature(token: str, header: JsonObject, keys: Sequence[PublicKey]) -> None:
    """Raises BadTokenError if the token's signature was not made with any of the keys."""
    text, _, signature = token.rpartition(".")
    named, algorithm = header.get("kid"), header.get("alg")
    raw = _decoded(signature)
    candidates = [key for key in keys if not named or not key.id or key.id == named] or list(keys)
    if not isinstance(algorithm, str) or not any(key.check(algorithm, text.encode(), raw) for key in candidates):
        raise BadTokenError(_FORGED)


def claims_of(token: str) -> tuple[JsonObject, JsonObject]:
    """The header and the claims of a token; its signature is not checked. Raises BadTokenError."""
    parts = token.split(".")
    if len(parts) != 3:
        raise BadTokenError("the token is not a JSON web token")
    try:
        header, claims = (msgspec.json.decode(_decoded(part)) for part in parts[:2])
    except (ValueError, binascii.Error):
        raise BadTokenError("the token is not a JSON web token") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise BadTokenError("the token is not a JSON web token")
    return header, claims


def keys_of_jwks(document: bytes) -> list[PublicKey]:
    """The keys of a JSON web key set; keys of unsupported types are left out.

    Raises:
        BadKeyError: the document is not a key set.
    """
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    try:
        found = msgspec.json.decode(document)["keys"]
        made: list[PublicKey] = []
        for key in found:
            kind, name, algorithm = key.get("kty"), key.get("kid", ""), key.get("alg", "")
            if kind == "RSA":
                public: Any = rsa.RSAPublicNumbers(_int(key["e"]), _int(key["n"])).public_key()
            elif kind == "EC" and key.get("crv") in ("P-256", "P-384", "P-521"):
                curves: dict[str, ec.EllipticCurve] = {
                    "P-256": ec.SECP256R1(),
                    "P-384": ec.SECP384R1(),
                    "P-521": ec.SECP521R1(),
                }
                curve = curves[key["crv"]]
                public = ec.EllipticCurvePublicNumbers(_int(key["x"]), _int(key["y"]), curve).public_key()
            elif kind == "OKP" and key.get("crv") == "Ed25519":
                public = ed25519.Ed25519PublicKey.from_public_bytes(_decoded(key["x"]))
            else:
                continue
            made.append(PublicKey(public, name, algorithm))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise BadKeyError(f"not a JSON web key set: {problem}") from None
    return made


def make_key() -> bytes:
    """A new private key for tokens (ECDSA, P-256), as PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())


def _private(pem: bytes) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        key: Any = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadKeyError("not an unencrypted private key in PEM") from None
    _algorithm(key.public_key())
    return key


def _publics(pem: bytes) -> list[PublicKey]:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    made: list[PublicKey] = []
    for block in pem.split(b"-----BEGIN ")[1:]:
        text = b"-----BEGIN " + block
        try:
            if block.startswith(b"CERTIFICATE"):
                key: Any = x509.load_pem_x509_certificate(text).public_key()
            elif b"PRIVATE KEY" in block.partition(b"\n")[0]:
                key = serialization.load_pem_private_key(text, None).public_key()
            else:
                key = serialization.load_pem_public_key(text)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise BadKeyError("a key in it can't be read as PEM") from None
        made.append(_identified(key))
    if not made:
        raise BadKeyError("no key in PEM is in it")
    return made


def _identified(key: Any) -> PublicKey:
    """The key; as in upstream, its name is the hash of its public part."""
    from cryptography.hazmat.primitives import serialization

    form = serialization.PublicFormat.SubjectPublicKeyInfo
    der = key.public_bytes(serialization.Encoding.DER, form)
    return PublicKey(key, _encoded(hashlib.sha256(der).digest()), _algorithm(key))


def _algorithm(key: Any) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, rsa.RSAPublicKey):
        return "RS256"
    if isinstance(key, ec.EllipticCurvePublicKey):
        for name, (curve, _, _) in _CURVES.items():
            if curve == key.curve.name:
                return name
    raise BadKeyError("keys of tokens are RSA, or ECDSA on P-256, P-384 or P-521")


def _number(value: int, size: int | None = None) -> str:
    return _encoded(value.to_bytes(size or math.ceil(value.bit_length() / 8), "big"))


def _int(text: str) -> int:
    return int.from_bytes(_decoded(text), "big")


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """The bytes of base64url text. Raises BadTokenError."""
    try:
        return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        raise BadTokenError("the token is not a JSON web token") from None
