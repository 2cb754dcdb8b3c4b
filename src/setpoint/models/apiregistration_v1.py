# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""apiregistration.k8s.io/v1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class APIServiceCondition(ApiModel):
    """APIServiceCondition describes the state of an APIService at a particular point"""

    last_transition_time: datetime | None = None
    """Last time the condition transitioned from one status to another."""
    message: str | None = None
    """Human-readable message indicating details about last transition."""
    reason: str | None = None
    """Unique, one-word, CamelCase reason for the condition's last transition."""
    status: str
    """Status is the status of the condition. Can be True, False, Unknown."""
    type: str
    """Type is the type of the condition."""


class APIServiceSpec(ApiModel):
    """APIServiceSpec contains information for locating and communicating with a server. Only https is supported, though
    you are able to disable certificate verification.
    """

    ca_bundle: bytes | None = None
    """CABundle is a PEM encoded CA bundle which will be used to validate an API server's serving certificate."""
    group: str | None = None
    """Group is the API group name this server hosts"""
    group_priority_minimum: int
    """GroupPriorityMinimum is the priority this group should have at least."""
    insecure_skip_tls_verify: bool | None = msgspec.field(name="insecureSkipTLSVerify", default=None)
    """InsecureSkipTLSVerify disables TLS certificate verification when communicating with this server."""
    service: ServiceReference | None = None
    """Service is a reference to the service for this API server."""
    version: str | None = None
    """Version is the API version this server hosts."""
    version_priority: int
    """VersionPriority controls the ordering of this API version inside of its group. Must be greater than zero."""


class APIServiceStatus(ApiModel):
    """APIServiceStatus contains derived information about an API server"""

    conditions: list[APIServiceCondition] = []
    """Current service state of apiService."""


class ServiceReference(ApiModel):
    """ServiceReference holds a reference to Service.legacy.k8s.io"""

    name: str | None = None
    """Name is the name of the service"""
    namespace: str | None = None
    """Namespace is the namespace of the service"""
    port: int | None = None
    """If specified, the port on the service that hosting webhook. Default to 443 for backward compatibility."""


class APIService(Object, ApiModel):
    """APIService represents a server for a particular GroupVersion. Name must be "version.group"."""

    resource: ClassVar[Resource] = _table.APIREGISTRATION_V1_API_SERVICE

    spec: APIServiceSpec = msgspec.field(default_factory=lambda: APIServiceSpec(group_priority_minimum=0, version_priority=0))
    """Spec contains information for locating and communicating with a server"""
    status: APIServiceStatus = msgspec.field(default_factory=APIServiceStatus)
    """Status contains derived information about an API server"""


class APIServiceList(KindList[APIService]):
    """APIServiceList is a list of APIService objects."""

    api_version: ClassVar[str] = "apiregistration.k8s.io/v1"
    kind: ClassVar[str] = "APIServiceList"
