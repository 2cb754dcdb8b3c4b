# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""networking.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, LabelSelector, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.core_v1 import TypedLocalObjectReference


class HTTPIngressPath(ApiModel):
    """HTTPIngressPath associates a path with a backend. Incoming urls matching the path are forwarded to the backend.
    """

    backend: IngressBackend
    """backend defines the referenced service endpoint to which the traffic will be forwarded to."""
    path: str | None = None
    """path is matched against the path of an incoming request."""
    path_type: str
    """pathType determines the interpretation of the path matching."""


class HTTPIngressRuleValue(ApiModel):
    """HTTPIngressRuleValue is a list of http selectors pointing to backends. In the example:
    http://<host>/<path>?<searchpart> -> backend where where parts of the url correspond to RFC 3986, this resource will
    be used to match against everything after the last '/' and before the first '?' or '#'.
    """

    paths: list[HTTPIngressPath]
    """paths is a collection of paths that map requests to backends."""


class IPAddressSpec(ApiModel):
    """IPAddressSpec describe the attributes in an IP Address."""

    parent_ref: ParentReference
    """parentRef references the resource that an IPAddress is attached to."""


class IPBlock(ApiModel):
    """IPBlock describes a particular CIDR (Ex. "192.168.1.0/24","2001:db8::/64") that is allowed to the pods matched by
    a NetworkPolicySpec's podSelector. The except entry describes CIDRs that should not be included within this rule.
    """

    cidr: str
    """cidr is a string representing the IPBlock Valid examples are "192.168.1.0/24" or "2001:db8::/64\""""
    except_: list[str] = []
    """except is a slice of CIDRs that should not be included within an IPBlock Valid examples are "192.168.1.0/24" or
    "2001:db8::/64" Except values will be rejected if they are outside the cidr range
    """


class IngressBackend(ApiModel):
    """IngressBackend describes all endpoints for a given service and port."""

    resource: TypedLocalObjectReference | None = None
    """resource is an ObjectRef to another Kubernetes resource in the namespace of the Ingress object."""
    service: IngressServiceBackend | None = None
    """service references a service as a backend."""


class IngressClassParametersReference(ApiModel):
    """IngressClassParametersReference identifies an API object. This can be used to specify a cluster or
    namespace-scoped resource.
    """

    api_group: str | None = None
    """apiGroup is the group for the resource being referenced."""
    kind: str
    """kind is the type of resource being referenced."""
    name: str
    """name is the name of resource being referenced."""
    namespace: str | None = None
    """namespace is the namespace of the resource being referenced."""
    scope: str | None = None
    """scope represents if this refers to a cluster or namespace scoped resource."""


class IngressClassSpec(ApiModel):
    """IngressClassSpec provides information about the class of an Ingress."""

    controller: str | None = None
    """controller refers to the name of the controller that should handle this class."""
    parameters: IngressClassParametersReference | None = None
    """parameters is a link to a custom resource containing additional configuration for the controller."""


class IngressLoadBalancerIngress(ApiModel):
    """IngressLoadBalancerIngress represents the status of a load-balancer ingress point."""

    hostname: str | None = None
    """hostname is set for load-balancer ingress points that are DNS based."""
    ip: str | None = None
    """ip is set for load-balancer ingress points that are IP based."""
    ports: list[IngressPortStatus] = []
    """ports provides information about the ports exposed by this LoadBalancer."""


class IngressLoadBalancerStatus(ApiModel):
    """IngressLoadBalancerStatus represents the status of a load-balancer."""

    ingress: list[IngressLoadBalancerIngress] = []
    """ingress is a list containing ingress points for the load-balancer."""


class IngressPortStatus(ApiModel):
    """IngressPortStatus represents the error condition of a service port"""

    error: str | None = None
    """error is to record the problem with the service port The format of the error shall comply with the following
    rules: - built-in error values shall be specified in this file and those shall use CamelCase names - cloud provider
    specific error values must have names that comply with the format foo.example.com/CamelCase.
    """
    port: int
    """port is the port number of the ingress port."""
    protocol: str
    """protocol is the protocol of the ingress port."""


class IngressRule(ApiModel):
    """IngressRule represents the rules mapping the paths under a specified host to the related backend services.
    Incoming requests are first evaluated for a host match, then routed to the backend associated with the matching
    IngressRuleValue.
    """

    host: str | None = None
    """host is the fully qualified domain name of a network host, as defined by RFC 3986."""
    http: HTTPIngressRuleValue | None = None
    """http is a HTTP IngressRuleValue, which contains a list of http selectors"""


class IngressServiceBackend(ApiModel):
    """IngressServiceBackend references a Kubernetes Service as a Backend."""

    name: str
    """name is the referenced service. The service must exist in the same namespace as the Ingress object."""
    port: ServiceBackendPort | None = None
    """port of the referenced service. A port name or port number is required for a IngressServiceBackend."""


class IngressSpec(ApiModel):
    """IngressSpec describes the Ingress the user wishes to exist."""

    default_backend: IngressBackend | None = None
    """defaultBackend is the backend that should handle requests that don't match any rule."""
    ingress_class_name: str | None = None
    """ingressClassName is the name of an IngressClass cluster resource."""
    rules: list[IngressRule] = []
    """rules is a list of host rules used to configure the Ingress."""
    tls: list[IngressTLS] = []
    """tls represents the TLS configuration. Currently the Ingress only supports a single TLS port, 443."""


class IngressStatus(ApiModel):
    """IngressStatus describe the current state of the Ingress."""

    load_balancer: IngressLoadBalancerStatus | None = None
    """loadBalancer contains the current status of the load-balancer."""


class IngressTLS(ApiModel):
    """IngressTLS describes the transport layer security associated with an ingress."""

    hosts: list[str] = []
    """hosts is a list of hosts included in the TLS certificate. Defaults to the wildcard host setting for the
    loadbalancer controller fulfilling this Ingress, if left unspecified.
    """
    secret_name: str | None = None
    """secretName is the name of the secret used to terminate TLS traffic on port 443."""


class NetworkPolicyEgressRule(ApiModel):
    """NetworkPolicyEgressRule describes a particular set of traffic that is allowed out of pods matched by a
    NetworkPolicySpec's podSelector. The traffic must match both ports and to. This type is beta-level in 1.8
    """

    ports: list[NetworkPolicyPort] = []
    """ports is a list of destination ports for outgoing traffic."""
    to: list[NetworkPolicyPeer] = []
    """to is a list of destinations for outgoing traffic of pods selected for this rule."""


class NetworkPolicyIngressRule(ApiModel):
    """NetworkPolicyIngressRule describes a particular set of traffic that is allowed to the pods matched by a
    NetworkPolicySpec's podSelector. The traffic must match both ports and from.
    """

    from_: list[NetworkPolicyPeer] = []
    """from is a list of sources which should be able to access the pods selected for this rule."""
    ports: list[NetworkPolicyPort] = []
    """ports is a list of ports which should be made accessible on the pods selected for this rule."""


class NetworkPolicyPeer(ApiModel):
    """NetworkPolicyPeer describes a peer to allow traffic to/from. Only certain combinations of fields are allowed"""

    ip_block: IPBlock | None = None
    """ipBlock defines policy on a particular IPBlock."""
    namespace_selector: LabelSelector | None = None
    """namespaceSelector selects namespaces using cluster-scoped labels."""
    pod_selector: LabelSelector | None = None
    """podSelector is a label selector which selects pods."""


class NetworkPolicyPort(ApiModel):
    """NetworkPolicyPort describes a port to allow traffic on"""

    end_port: int | None = None
    """endPort indicates that the range of ports from port to endPort if set, inclusive, should be allowed by the
    policy.
    """
    port: int | str | None = None
    """port represents the port on the given protocol."""
    protocol: str | None = None
    """protocol represents the protocol (TCP, UDP, or SCTP) which traffic must match."""


class NetworkPolicySpec(ApiModel):
    """NetworkPolicySpec provides the specification of a NetworkPolicy"""

    egress: list[NetworkPolicyEgressRule] = []
    """egress is a list of egress rules to be applied to the selected pods."""
    ingress: list[NetworkPolicyIngressRule] = []
    """ingress is a list of ingress rules to be applied to the selected pods."""
    pod_selector: LabelSelector | None = None
    """podSelector selects the pods to which this NetworkPolicy object applies."""
    policy_types: list[str] = []
    """policyTypes is a list of rule types that the NetworkPolicy relates to."""


class ParentReference(ApiModel):
    """ParentReference describes a reference to a parent object."""

    group: str | None = None
    """group is the group of the object being referenced."""
    name: str
    """name is the name of the object being referenced."""
    namespace: str | None = None
    """namespace is the namespace of the object being referenced."""
    resource: str
    """resource is the resource of the object being referenced."""


class ServiceBackendPort(ApiModel):
    """ServiceBackendPort is the service port being referenced."""

    name: str | None = None
    """name is the name of the port on the Service."""
    number: int | None = None
    """number is the numerical port number (e.g. 80) on the Service."""


class ServiceCIDRSpec(ApiModel):
    """ServiceCIDRSpec define the CIDRs the user wants to use for allocating ClusterIPs for Services."""

    cidrs: list[str] = []
    """cidrs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from which to assign
    service cluster IPs.
    """


class ServiceCIDRStatus(ApiModel):
    """ServiceCIDRStatus describes the current state of the ServiceCIDR."""

    conditions: list[Condition] = []
    """conditions holds an array of metav1.Condition that describe the state of the ServiceCIDR."""


class IPAddress(Object, ApiModel):
    """IPAddress represents a single IP of a single IP Family. The object is designed to be used by APIs that operate on
    IP addresses. The object is used by the Service core API for allocation of IP addresses.
    """

    resource: ClassVar[Resource] = _table.NETWORKING_V1_IP_ADDRESS

    spec: IPAddressSpec = msgspec.field(default_factory=lambda: IPAddressSpec(parent_ref=ParentReference(name="", resource="")))
    """spec is the desired state of the IPAddress."""


class Ingress(Object, ApiModel):
    """Ingress is a collection of rules that allow inbound connections to reach the endpoints defined by a backend. An
    Ingress can be configured to give services externally-reachable urls, load balance traffic, terminate SSL, offer
    name based virtual hosting etc.
    """

    resource: ClassVar[Resource] = _table.NETWORKING_V1_INGRESS

    spec: IngressSpec = msgspec.field(default_factory=IngressSpec)
    """spec is the desired state of the Ingress."""
    status: IngressStatus = msgspec.field(default_factory=IngressStatus)
    """status is the current state of the Ingress."""


class IngressClass(Object, ApiModel):
    """IngressClass represents the class of the Ingress, referenced by the Ingress Spec. The
    `ingressclass.kubernetes.io/is-default-class` annotation can be used to indicate that an IngressClass should be
    considered default. When a single IngressClass resource has this annotation set to true, new Ingress resources
    without a class specified will be assigned this default class.
    """

    resource: ClassVar[Resource] = _table.NETWORKING_V1_INGRESS_CLASS

    spec: IngressClassSpec = msgspec.field(default_factory=IngressClassSpec)
    """spec is the desired state of the IngressClass."""


class NetworkPolicy(Object, ApiModel):
    """NetworkPolicy describes what network traffic is allowed for a set of Pods"""

    resource: ClassVar[Resource] = _table.NETWORKING_V1_NETWORK_POLICY

    spec: NetworkPolicySpec = msgspec.field(default_factory=NetworkPolicySpec)
    """spec represents the specification of the desired behavior for this NetworkPolicy."""


class ServiceCIDR(Object, ApiModel):
    """ServiceCIDR defines a range of IP addresses using CIDR format (e.g. 192.168.0.0/24 or 2001:db2::/64). This range
    is used to allocate ClusterIPs to Service objects.
    """

    resource: ClassVar[Resource] = _table.NETWORKING_V1_SERVICE_CIDR

    spec: ServiceCIDRSpec = msgspec.field(default_factory=ServiceCIDRSpec)
    """spec is the desired state of the ServiceCIDR."""
    status: ServiceCIDRStatus = msgspec.field(default_factory=ServiceCIDRStatus)
    """status represents the current state of the ServiceCIDR."""


class IPAddressList(KindList[IPAddress]):
    """IPAddressList contains a list of IPAddress."""

    api_version: ClassVar[str] = "networking.k8s.io/v1"
    kind: ClassVar[str] = "IPAddressList"


class IngressClassList(KindList[IngressClass]):
    """IngressClassList is a collection of IngressClasses."""

    api_version: ClassVar[str] = "networking.k8s.io/v1"
    kind: ClassVar[str] = "IngressClassList"


class IngressList(KindList[Ingress]):
    """IngressList is a collection of Ingress."""

    api_version: ClassVar[str] = "networking.k8s.io/v1"
    kind: ClassVar[str] = "IngressList"


class NetworkPolicyList(KindList[NetworkPolicy]):
    """NetworkPolicyList is a list of NetworkPolicy objects."""

    api_version: ClassVar[str] = "networking.k8s.io/v1"
    kind: ClassVar[str] = "NetworkPolicyList"


class ServiceCIDRList(KindList[ServiceCIDR]):
    """ServiceCIDRList contains a list of ServiceCIDR objects."""

    api_version: ClassVar[str] = "networking.k8s.io/v1"
    kind: ClassVar[str] = "ServiceCIDRList"
