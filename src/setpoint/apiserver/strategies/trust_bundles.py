"""ClusterTrustBundles: the certificates of authorities (trust anchors), in PEM, and their signer, if any."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.strategies.pem import Block, blocks
from setpoint.apiserver.strategies.projected_volumes import signer_errors
from setpoint.meta.names import dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, too_long

_SIGNER: Final = "spec.signerName"
_BUNDLE: Final = "spec.trustBundle"
_UNSHOWN: Final = "<value omitted>"  # a text in quotes, as upstream's message has it
_LARGEST: Final = 1 << 20
"""The maximum size of a bundle, in bytes."""


class TrustBundles(Strategy):
    """Trust bundles. The name of a bundle with a signer begins with the signer's name, so users of different
    signers can't take each other's names.
    """

    says_required = True  # a missing bundle is an empty one

    @staticmethod
    def name_rule(name: str, /) -> list[str]:
        return []  # `validate` knows the signer, on which names depend

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec, before = obj.get("spec") or {}, (old or {}).get("spec") or {}
        signer, bundle = spec.get("signerName") or "", spec.get("trustBundle") or ""
        errors = _names(obj["metadata"], signer)
        errors += signer_errors(signer, _SIGNER) if signer else []
        if old is None or bundle != (before.get("trustBundle") or ""):
            errors += _bundle_errors(bundle)
        if old is not None and signer != (before.get("signerName") or ""):
            errors.append(invalid(_SIGNER, signer, "field is immutable"))
        return errors


def _names(metadata: JsonObject, signer: str) -> list[FieldError]:
    generate, name = metadata.get("generateName") or "", metadata.get("name") or ""
    errors: list[FieldError] = []
    if generate:  # more characters follow it in a generated name, so it may end with a dash
        example = generate[:-1] + "a" if len(generate) > 1 and generate.endswith("-") else generate
        errors += [invalid("metadata.generateName", generate, text) for text in _name_problems(example, signer)]
    return errors + [invalid("metadata.name", name, text) for text in _name_problems(name, signer)]


def _name_problems(name: str, signer: str) -> list[str]:
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return dns1123_subdomain(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return dns1123_subdomain(name.removeprefix(prefix))


def _bundle_errors(bundle: str) -> list[FieldError]:
    text = bundle.encode()
    if len(text) > _LARGEST:
        return [too_long(_BUNDLE, _LARGEST)]
    errors: list[FieldError] = []
    places: dict[bytes, list[int]] = {}
    entries = 0
    for index, block in enumerate(blocks(text)):
        entries += 1
        problem = _problem(block)
        if problem:
            errors.append(invalid(_BUNDLE, _UNSHOWN, f"entry {index} {problem}"))
        else:
            places.setdefault(block.content, []).append(index)
    for indices in places.values():
        if len(indices) > 1:
            index_text = " ".join(map(str, indices))
            errors.append(invalid(_BUNDLE, _UNSHOWN, f"duplicate trust anchor (indices [{index_text}])"))
    if not entries:
        errors.append(invalid(_BUNDLE, _UNSHOWN, "at least one trust anchor must be provided"))
    return errors


def _problem(block: Block) -> str:
    """The problem with a block; empty if it is a certificate."""
    if block.type != b"CERTIFICATE":
        return f"has bad block type: {block.type.decode(errors='replace')}"
    if block.headers:
        return "has PEM block headers"
    return "" if _is_certificate(block.content) else "does not parse as X.509"


def _is_certificate(der: bytes) -> bool:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        certificate = x509.load_der_x509_certificate(der)
        # these parts are parsed only when they are read
        _ = certificate.subject, certificate.issuer, certificate.extensions
        certificate.public_key()
    except UnsupportedAlgorithm:  # a certificate with a kind of key that nothing here can use
        return True
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return False
    return True
