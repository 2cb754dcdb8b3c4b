"""Keys of JSON web tokens (RFC 7515 to 7519), which sign this server's tokens or verify tokens from other issuers."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from setpoint.meta.optional_dependencies import needs_extra

JsonObject = dict[str, Any]
_RSA: Final = frozenset(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"))
_CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_FORM: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
"""A compact token (RFC 7515, 7.1): base64url without padding, which Python's decoders accept, too."""
_MALFORMED: Final = "the token is not a JSON web token"
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
        token: str = _jwt().encode(claims, self._secret, "HS256")
        return token

    def verify(self, token: str) -> JsonObject:
        _, claims = claims_of(token)
        if not _is_signed(token, self._secret, "HS256"):
            raise BadTokenError(_FORGED)
        return claims


class PublicKey(msgspec.Struct, frozen=True):
    """A public key. ``key`` is a key object of the cryptography package, and ``id`` is the name of the
    key in tokens.

    ``algorithm`` is the only signature algorithm that is accepted; if it is empty, every algorithm that
    fits the key is accepted.
    """

    key: Any
    id: str = ""
    algorithm: str = ""

    def accepts(self, algorithm: str) -> bool:
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

        if self.algorithm and self.algorithm != algorithm:
            return False
        if isinstance(self.key, rsa.RSAPublicKey):
            return algorithm in _RSA
        if isinstance(self.key, ec.EllipticCurvePublicKey):
            return _CURVES.get(self.key.curve.name) == algorithm
        return isinstance(self.key, ed25519.Ed25519PublicKey) and algorithm == "EdDSA"

    def jwk(self) -> JsonObject:
        """The key as a JSON web key (RFC 7517)."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        algorithms = _jwt().algorithms
        kind = algorithms.RSAAlgorithm if isinstance(self.key, rsa.RSAPublicKey) else algorithms.ECAlgorithm
        jwk = kind.to_jwk(self.key, as_dict=True)
        jwk.pop("key_ops", None)
        return {"use": "sig", "kid": self.id, "alg": _algorithm(self.key), **jwk}


class PemKeys:
    """RSA or ECDSA keys in PEM. ``signing`` is a private key. Each item of ``verifying`` is the contents of a PEM file;
    signatures that match a public key, private key or certificate in it are also accepted.

    Raises:
        BadKeyError: a key can't be read.
    """

    def __init__(self, signing: bytes, verifying: Sequence[bytes] = ()) -> None:
        self._private = _private(signing)
        own = _identified(self._private.public_key())
        by_id = {own.id: own}
        for pem in verifying:
            for key in _publics(pem):
                by_id[key.id] = key
        self._id = own.id
        self._by_id = by_id

    @property
    def jwks(self) -> list[JsonObject]:
        return [key.jwk() for key in self._by_id.values()]

    @property
    def algorithms(self) -> list[str]:
        return sorted({_algorithm(key.key) for key in self._by_id.values()}, reverse=True)

    def sign(self, claims: JsonObject) -> str:
        headers = {"kid": self._id, "typ": None}  # upstream's have no type
        token: str = _jwt().encode(claims, self._private, _algorithm(self._private.public_key()), headers)
        return token

    def verify(self, token: str) -> JsonObject:
        header, claims = claims_of(token)
        check_signature(token, header, list(self._by_id.values()))
        return claims


def check_signature(token: str, header: JsonObject, keys: Sequence[PublicKey]) -> None:
    """Raises BadTokenError if the token's signature was not made with any of the keys."""
    named, algorithm = header.get("kid"), header.get("alg")
    candidates = [key for key in keys if not named or not key.id or key.id == named] or list(keys)
    if not isinstance(algorithm, str) or not any(
        key.accepts(algorithm) and _is_signed(token, key.key, algorithm) for key in candidates
    ):
        raise BadTokenError(_FORGED)


def claims_of(token: str) -> tuple[JsonObject, JsonObject]:
    """The header and the claims of a token; its signature is not checked. Raises BadTokenError."""
    if _FORM.fullmatch(token) is None:
        raise BadTokenError(_MALFORMED)
    jwt = _jwt()
    try:
        parts = jwt.PyJWS().decode_complete(token, options={"verify_signature": False})
        claims = msgspec.json.decode(parts["payload"])
    except (jwt.InvalidTokenError, ValueError, RecursionError):
        raise BadTokenError(_MALFORMED) from None
    if not isinstance(claims, dict):
        raise BadTokenError(_MALFORMED)
    return parts["header"], claims


def _is_signed(token: str, key: Any, algorithm: str) -> bool:
    jwt = _jwt()
    try:
        jwt.PyJWS().decode_complete(token, key, algorithms=[algorithm])
    except jwt.InvalidTokenError:
        return False
    return True


def _jwt() -> Any:
    with needs_extra("server", "reading tokens"):
        import jwt
    return jwt


def keys_of_jwks(document: bytes) -> list[PublicKey]:
    """The keys of a JSON web key set; keys of unsupported types are left out.

    Raises:
        BadKeyError: the document is not a key set.
    """
    jwt = _jwt()
    kinds = {
        ("RSA", None): jwt.algorithms.RSAAlgorithm,
        ("EC", "P-256"): jwt.algorithms.ECAlgorithm,
        ("EC", "P-384"): jwt.algorithms.ECAlgorithm,
        ("EC", "P-521"): jwt.algorithms.ECAlgorithm,
        ("OKP", "Ed25519"): jwt.algorithms.OKPAlgorithm,
    }
    try:
        keys: list[PublicKey] = []
        for key in msgspec.json.decode(document)["keys"]:
            kind = kinds.get((key.get("kty"), key.get("crv")))
            if kind is not None:
                public = kind.from_jwk({name: value for name, value in key.items() if name != "d"})
                keys.append(PublicKey(public, key.get("kid", ""), key.get("alg", "")))
    except (jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise BadKeyError(f"not a JSON web key set: {problem}") from None
    return keys


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

    keys: list[PublicKey] = []
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
            raise BadKeyError("it contains a key that is not valid PEM") from None
        keys.append(_identified(key))
    if not keys:
        raise BadKeyError("it contains no key in PEM")
    return keys


def _identified(key: Any) -> PublicKey:
    """The key; as in upstream, its name is the hash of its public part."""
    from cryptography.hazmat.primitives import serialization

    form = serialization.PublicFormat.SubjectPublicKeyInfo
    der = key.public_bytes(serialization.Encoding.DER, form)
    name = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
    return PublicKey(key, name, _algorithm(key))


def _algorithm(key: Any) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, rsa.RSAPublicKey):
        return "RS256"
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        return _CURVES[key.curve.name]
    raise BadKeyError("keys of tokens are RSA, or ECDSA on P-256, P-384 or P-521")
