"""The OpenAPI operations on paths that do not belong to resources: discovery, the version, and the keys that verify
tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from setpoint.apiserver.discovery.openapi_definitions import PREFIX, DescribedResource, Form
from setpoint.apiserver.discovery.openapi_operations import BUILTIN_TYPES, group_words

CONFIGURATION: Final = "/.well-known/openid-configuration"
KEYS: Final = "/openid/v1/jwks"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_JSON: Final = "application/json"


class Reading(NamedTuple):
    """A GET operation without parameters. ``schema`` names the schema of the response; it is empty for plain text."""

    path: str
    id: str
    tag: str
    description: str
    schema: str
    media_types: tuple[str, ...] = BUILTIN_TYPES

    def operation(self, form: Form) -> dict[str, Any]:
        """The operation as it is written in OpenAPI documents of version ``form``."""
        operation: dict[str, Any] = {"tags": [self.tag], "description": self.description, "operationId": self.id}
        schema = {"$ref": PREFIX[form] + self.schema} if self.schema else {"type": "string"}
        refused = {"401": {"description": "Unauthorized"}}
        if form == "v3":
            content = {type_: {"schema": schema} for type_ in self.media_types}
            return operation | {"responses": {"200": {"description": "OK", "content": content}, **refused}}
        media: dict[str, Any] = {
            "consumes": list(self.media_types),
            "produces": list(self.media_types),
            "schemes": ["https"],
        }
        return operation | media | {"responses": {"200": {"description": "OK", "schema": schema}, **refused}}


_ROOTS: Final = {
    "/api": Reading("/api/", "getCoreAPIVersions", "core", "get available API versions", f"{_META}APIVersions"),
    "/apis": Reading("/apis/", "getAPIVersions", "apis", "get available API versions", f"{_META}APIGroupList"),
    "/version": Reading(
        *("/version/", "getCodeVersion", "version", "get the version information for this server"),
        *("io.k8s.apimachinery.pkg.version.Info", (_JSON,)),
    ),
}
_ISSUER: Final = {
    CONFIGURATION: Reading(
        *(f"{CONFIGURATION}/", "getServiceAccountIssuerOpenIDConfiguration", "WellKnown"),
        "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
        *("", (_JSON,)),
    ),
    KEYS: Reading(
        *(f"{KEYS}/", "getServiceAccountIssuerOpenIDKeyset", "openid"),
        "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
        *("", ("application/jwk-set+json",)),
    ),
}


def root_documents(registry: Iterable[DescribedResource], *, issuer: bool) -> dict[str, Reading]:
    """The operations on paths that do not belong to resources, by path: the roots, the groups and versions of built-in
    resources and, if ``issuer`` is True, the documents of the token issuer.
    """
    documents = _ROOTS | _ISSUER if issuer else dict(_ROOTS)
    for item in registry:
        root = item.resource.root
        if item.schema_document is not None or root in documents:
            continue
        words, version = group_words(item.resource.group), item.resource.version
        title, tag = "".join(words), f"{words[0].lower()}{''.join(words[1:])}"
        if item.resource.group:
            name, text = f"get{title}APIGroup", "get information of a group"
            path = root.rpartition("/")[0]
            documents[path] = Reading(f"{path}/", name, tag, text, f"{_META}APIGroup")
        name = f"get{title}{version.title()}APIResources"
        text = "get available resources"
        documents[root] = Reading(f"{root}/", name, f"{tag}_{version}", text, f"{_META}APIResourceList")
    return documents
