"""Audit policies (``audit.k8s.io/v1``): which requests are logged, and at which level."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from setpoint.apiserver.authorization.attributes import Attributes

Level = Literal["None", "Metadata", "Request", "RequestResponse"]
Stage = Literal["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]
LEVELS: Final[tuple[Level, ...]] = ("None", "Metadata", "Request", "RequestResponse")


class AuditPolicyError(ValueError):
    """A policy file can't be used; the message names the file and gives the reason."""


class Decided(msgspec.Struct, frozen=True):
    """The decision on one request: the level at which it is logged, the stages to omit, and whether logged objects keep
    their managed fields.
    """

    level: Level = "None"
    omitted: frozenset[str] = frozenset()
    managed_fields: bool = True


class _Resources(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def matches(self, attributes: Attributes) -> bool:
        if self.group != attributes.group:
            return False
        if not self.resources:
            return True
        if self.resource_names and attributes.name not in self.resource_names:
            return False
        wanted = {"*", attributes.combined, f"{attributes.resource}/*"}
        if attributes.subresource:
            wanted.add(f"*/{attributes.subresource}")
        return not wanted.isdisjoint(self.resources)


class _Rule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    level: Level
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[_Resources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, attributes: Attributes) -> bool:
        if self.users and attributes.user.name not in self.users:
            return False
        if self.user_groups and set(self.user_groups).isdisjoint(attributes.user.groups):
            return False
        if self.verbs and attributes.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            if not attributes.is_resource or (self.namespaces and attributes.namespace not in self.namespaces):
                return False
            return not self.resources or any(resource.matches(attributes) for resource in self.resources)
        if self.non_resource_urls:
            return not attributes.is_resource and any(_covers(url, attributes.path) for url in self.non_resource_urls)
        return True


class _Document(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    rules: tuple[_Rule, ...]
    metadata: dict[str, object] | None = None
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool = False


class AuditPolicy:
    """A list of rules. The first rule that matches a request applies; a request that matches no rule is not logged."""

    def __init__(self, document: _Document) -> None:
        self._document = document

    @classmethod
    def read(cls, path: Path) -> AuditPolicy:
        """Reads a policy from a file. Raises AuditPolicyError."""
        from setpoint.meta.yaml_files import YamlFileError, read_first

        try:
            document = msgspec.convert(read_first(path), _Document)
        except YamlFileError as problem:
            raise AuditPolicyError(str(problem)) from None
        except msgspec.ValidationError as problem:
            raise AuditPolicyError(f"{path} is not an audit policy: {problem}") from None
        if (document.api_version, document.kind) != ("audit.k8s.io/v1", "Policy"):
            kind = f"{document.api_version}, {document.kind}"
            raise AuditPolicyError(f"{path}: expected audit.k8s.io/v1, Policy, not {kind}")
        if not document.rules:
            raise AuditPolicyError(f"{path}: there are no rules, so nothing would be logged")
        for index, rule in enumerate(document.rules):
            if rule.non_resource_urls and (rule.resources or rule.namespaces):
                raise AuditPolicyError(
                    f"{path}: rules[{index}].nonResourceURLs: rules cannot apply to both regular resources and "
                    "non-resource URLs"
                )
        return cls(document)

    def decide(self, attributes: Attributes) -> Decided:
        for rule in self._document.rules:
            if rule.matches(attributes):
                omit = rule.omit_managed_fields
                omit = self._document.omit_managed_fields if omit is None else omit
                stages = frozenset((*self._document.omit_stages, *rule.omit_stages))
                return Decided(rule.level, stages, not omit)
        return Decided()


def _covers(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern[:-1]))
