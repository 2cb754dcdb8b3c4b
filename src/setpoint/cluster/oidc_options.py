"""The OpenID Connect provider of an embedded cluster's server: its settings, and its keys from a file or from the
network.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from setpoint.apiserver.identity.keys import BadKeyError, PublicKey, keys_of_jwks
from setpoint.apiserver.identity.oidc import OidcProvider
from setpoint.apiserver.identity.provider_keys import ProviderKeys
from setpoint.cluster.security_files import SecurityError, read_file
from setpoint.meta.optional_dependencies import needs_extra
from setpoint.trust import client_context

_ASYMMETRIC: Final = frozenset(
    ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA")
)


class OidcOptions(msgspec.Struct, frozen=True):
    """The settings of kube-apiserver's ``--oidc-…`` flags.

    The provider's keys come from ``jwks_file``; without it, they are fetched from ``issuer_url``, at startup, and again
    when the provider has changed them (`ProviderKeys`). The provider's certificate is checked against ``ca_file`` or
    the system's authorities. For ``username_prefix``, see `OidcProvider`.
    """

    issuer_url: str
    client_id: str
    jwks_file: Path | None = None
    ca_file: Path | None = None
    username_claim: str = "sub"
    username_prefix: str | None = None
    groups_claim: str = ""
    groups_prefix: str = ""
    required_claims: Mapping[str, str] = msgspec.field(default_factory=dict)
    signing_algorithms: tuple[str, ...] = ("RS256",)


async def oidc_provider(options: OidcOptions) -> OidcProvider:
    """The provider with its keys, read from the file or fetched.

    Raises:
        SecurityError: a setting is invalid, or the keys can't be read or fetched.
    """
    if not options.issuer_url.startswith("https://"):
        raise SecurityError(f"--oidc-issuer-url {options.issuer_url}: the URL of a provider begins with https://")
    if not options.client_id:
        raise SecurityError(
            "--oidc-client-id is missing: it is the name of the client for which identity tokens are issued"
        )
    if wrong := set(options.signing_algorithms) - _ASYMMETRIC:
        listed = ", ".join(sorted(_ASYMMETRIC))
        raise SecurityError(f"--oidc-signing-algs: {', '.join(sorted(wrong))} is not one of {listed}")
    if options.jwks_file is not None:
        document = read_file(options.jwks_file, "--oidc-jwks-file")
        keys = ProviderKeys(_keys(document, f"--oidc-jwks-file {options.jwks_file}"))
    else:
        keys = ProviderKeys(await _provided(options), lambda: _provided_again(options))
    return OidcProvider(
        options.issuer_url,
        options.client_id,
        keys,
        username_claim=options.username_claim,
        username_prefix=options.username_prefix,
        groups_claim=options.groups_claim,
        groups_prefix=options.groups_prefix,
        required_claims=options.required_claims,
        algorithms=options.signing_algorithms,
    )


def _keys(document: bytes, source: str) -> list[PublicKey]:
    try:
        return keys_of_jwks(document)
    except BadKeyError as problem:
        raise SecurityError(f"{source}: {problem}") from None


async def _provided(options: OidcOptions) -> list[PublicKey]:
    return _keys(await _fetched(options), f"--oidc-issuer-url {options.issuer_url}")


async def _provided_again(options: OidcOptions) -> list[PublicKey]:
    """The provider's current keys.

    Raises:
        BadKeyError: the keys can't be read or fetched.
    """
    try:
        return await _provided(options)
    except SecurityError as problem:
        raise BadKeyError(str(problem)) from None


def _trusting(options: OidcOptions) -> ssl.SSLContext:
    try:
        return client_context(options.ca_file.read_bytes() if options.ca_file is not None else None)
    except (OSError, ValueError) as problem:
        raise SecurityError(f"--oidc-ca-file {options.ca_file}: {problem}") from None


async def _fetched(options: OidcOptions) -> bytes:
    """The provider's key set, from the URL in its discovery document."""
    with needs_extra("server", "fetching keys of an OpenID Connect provider"):
        import aiohttp

    source = f"--oidc-issuer-url {options.issuer_url}"
    context = _trusting(options)
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session, asyncio.timeout(10):
            document: Any = {}
            async with session.get(f"{options.issuer_url.rstrip('/')}/.well-known/openid-configuration") as answer:
                answer.raise_for_status()
                document = await answer.json(content_type=None)
            if document.get("issuer") != options.issuer_url:
                raise SecurityError(f"{source}: the provider's issuer is {document.get('issuer')!r}")
            async with session.get(document["jwks_uri"]) as answer:
                answer.raise_for_status()
                return await answer.read()
    except TimeoutError:
        raise SecurityError(f"{source}: no answer in 10 s") from None
    except (aiohttp.ClientError, ValueError, KeyError, AttributeError) as problem:
        if isinstance(problem, SecurityError):
            raise
        raise SecurityError(f"{source}: the keys can't be fetched: {problem}") from None
