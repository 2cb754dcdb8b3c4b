# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""discovery.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.core_v1 import ObjectReference


class Endpoint(ApiModel):
    """Endpoint represents a single logical "backend" implementing a service."""

    addresses: list[str]
    """addresses of this endpoint. For EndpointSlices of addressType "IPv4" or "IPv6", the values are IP addresses in
    canonical form. The syntax and semantics of other addressType values are not defined. This must contain at least one
    address but no more than 100.
    """
    conditions: EndpointConditions | None = None
    """conditions contains information about the current status of the endpoint."""
    deprecated_topology: dict[str, str] = {}
    """deprecatedTopology contains topology information part of the v1beta1 API."""
    hints: EndpointHints | None = None
    """hints contains information associated with how an endpoint should be consumed."""
    hostname: str | None = None
    """hostname of this endpoint. This field may be used by consumers of endpoints to distinguish endpoints from each
    other (e.g. in DNS names). Multiple endpoints which use the same hostname should be considered fungible (e.g.
    multiple A values in DNS).
    """
    node_name: str | None = None
    """nodeName represents the name of the Node hosting this endpoint."""
    target_ref: ObjectReference | None = None
    """targetRef is a reference to a Kubernetes object that represents this endpoint."""
    zone: str | None = None
    """zone is the name of the Zone this endpoint exists in."""


class EndpointConditions(ApiModel):
    """EndpointConditions represents the current condition of an endpoint."""

    ready: bool | None = None
    """ready indicates that this endpoint is ready to receive traffic, according to whatever system is managing the
    endpoint.
    """
    serving: bool | None = None
    """serving indicates that this endpoint is able to receive traffic, according to whatever system is managing the
    endpoint.
    """
    terminating: bool | None = None
    """terminating indicates that this endpoint is terminating."""


class EndpointHints(ApiModel):
    """EndpointHints provides hints describing how an endpoint should be consumed."""

    for_nodes: list[ForNode] = []
    """forNodes indicates the node(s) this endpoint should be consumed by when using topology aware routing."""
    for_zones: list[ForZone] = []
    """forZones indicates the zone(s) this endpoint should be consumed by when using topology aware routing."""


class EndpointPort(ApiModel):
    """EndpointPort represents a Port used by an EndpointSlice"""

    app_protocol: str | None = None
    """The application protocol for this port. This is used as a hint for implementations to offer richer behavior for
    protocols that they understand. This field follows standard Kubernetes label syntax.
    """
    name: str | None = None
    """name represents the name of this port. All ports in an EndpointSlice must have a unique name. If the
    EndpointSlice is derived from a Kubernetes service, this corresponds to the Service.ports[].name. Default is empty
    string.
    """
    port: int | None = None
    """port represents the port number of the endpoint."""
    protocol: str | None = None
    """protocol represents the IP protocol for this port. Must be UDP, TCP, or SCTP. Default is TCP."""


class ForNode(ApiModel):
    """ForNode provides information about which nodes should consume this endpoint."""

    name: str
    """name represents the name of the node."""


class ForZone(ApiModel):
    """ForZone provides information about which zones should consume this endpoint."""

    name: str
    """name represents the name of the zone."""


class EndpointSlice(Object, ApiModel):
    """EndpointSlice represents a set of service endpoints. Most EndpointSlices are created by the EndpointSlice
    controller to represent the Pods selected by Service objects. For a given service there may be multiple
    EndpointSlice objects which must be joined to produce the full set of endpoints; you can find all of the slices for
    a given service by listing EndpointSlices in the service's namespace whose `kubernetes.io/service-name` label
    contains the service's name.
    """

    resource: ClassVar[Resource] = _table.DISCOVERY_V1_ENDPOINT_SLICE

    address_type: str
    """addressType specifies the type of address carried by this EndpointSlice."""
    endpoints: list[Endpoint] = []
    """endpoints is a list of unique endpoints in this slice."""
    ports: list[EndpointPort] = []
    """ports specifies the list of network ports exposed by each endpoint in this slice."""


class EndpointSliceList(KindList[EndpointSlice]):
    """EndpointSliceList represents a list of endpoint slices"""

    api_version: ClassVar[str] = "discovery.k8s.io/v1"
    kind: ClassVar[str] = "EndpointSliceList"
