# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""apiextensions.k8s.io/v1."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models._mixins import CustomResourceDefinitionMixin


class CustomResourceColumnDefinition(ApiModel):
    """CustomResourceColumnDefinition specifies a column for server side printing."""

    description: str | None = None
    """description is a human readable description of this column."""
    format: str | None = None
    """format is an optional OpenAPI type definition for this column."""
    json_path: str
    """jsonPath is a simple JSON path (i.e. with array notation) which is evaluated against each custom resource to
    produce the value for this column.
    """
    name: str
    """name is a human readable name for the column."""
    priority: int | None = None
    """priority is an integer defining the relative importance of this column compared to others."""
    type: str
    """type is an OpenAPI type definition for this column."""


class CustomResourceConversion(ApiModel):
    """CustomResourceConversion describes how to convert different versions of a CR."""

    strategy: str
    """strategy specifies how custom resources are converted between versions."""
    webhook: WebhookConversion | None = None
    """webhook describes how to call the conversion webhook."""


class CustomResourceDefinitionCondition(ApiModel):
    """CustomResourceDefinitionCondition contains details for the current condition of this pod."""

    last_transition_time: datetime | None = None
    """lastTransitionTime last time the condition transitioned from one status to another."""
    message: str | None = None
    """message is a human-readable message indicating details about last transition."""
    observed_generation: int | None = None
    """observedGeneration represents the .metadata.generation that the condition was set based upon."""
    reason: str | None = None
    """reason is a unique, one-word, CamelCase reason for the condition's last transition."""
    status: str
    """status is the status of the condition. Can be True, False, Unknown."""
    type: str
    """type is the type of the condition. Types include Established, NamesAccepted and Terminating."""


class CustomResourceDefinitionNames(ApiModel):
    """CustomResourceDefinitionNames indicates the names to serve this CustomResourceDefinition"""

    categories: list[str] = []
    """categories is a list of grouped resources this custom resource belongs to (e.g. 'all')."""
    kind: str
    """kind is the serialized kind of the resource."""
    list_kind: str | None = None
    """listKind is the serialized kind of the list for this resource. Defaults to "`kind`List"."""
    plural: str
    """plural is the plural name of the resource to serve. Must be all lowercase."""
    short_names: list[str] = []
    """shortNames are short names for the resource, exposed in API discovery documents, and used by clients to support
    invocations like `kubectl get <shortname>`.
    """
    singular: str | None = None
    """singular is the singular name of the resource. Defaults to lowercased `kind`."""


class CustomResourceDefinitionSpec(ApiModel):
    """CustomResourceDefinitionSpec describes how a user wants their resource to appear"""

    conversion: CustomResourceConversion | None = None
    """conversion defines conversion settings for the CRD."""
    group: str
    """group is the API group of the defined custom resource."""
    names: CustomResourceDefinitionNames
    """names specify the resource and kind names for the custom resource."""
    preserve_unknown_fields: bool | None = None
    """preserveUnknownFields indicates that object fields which are not specified in the OpenAPI schema should be
    preserved when persisting to storage. apiVersion, kind, metadata and known fields inside metadata are always
    preserved.
    """
    scope: str
    """scope indicates whether the defined custom resource is cluster- or namespace-scoped."""
    versions: list[CustomResourceDefinitionVersion]
    """versions is the list of all API versions of the defined custom resource."""


class CustomResourceDefinitionStatus(ApiModel):
    """CustomResourceDefinitionStatus indicates the state of the CustomResourceDefinition"""

    accepted_names: CustomResourceDefinitionNames | None = None
    """acceptedNames are the names that are actually being used to serve discovery."""
    conditions: list[CustomResourceDefinitionCondition] = []
    """conditions indicate state for particular aspects of a CustomResourceDefinition"""
    observed_generation: int | None = None
    """The generation observed by the CRD controller."""
    stored_versions: list[str] = []
    """storedVersions lists all versions of CustomResources that were ever persisted."""


class CustomResourceDefinitionVersion(ApiModel):
    """CustomResourceDefinitionVersion describes a version for CRD."""

    additional_printer_columns: list[CustomResourceColumnDefinition] = []
    """additionalPrinterColumns specifies additional columns returned in Table output."""
    deprecated: bool | None = None
    """deprecated indicates this version of the custom resource API is deprecated. Defaults to false."""
    deprecation_warning: str | None = None
    """deprecationWarning overrides the default warning returned to API clients. The default warning indicates this
    version is deprecated and recommends use of the newest served version of equal or greater stability, if one exists.
    """
    name: str
    """name is the version name, e.g. “v1”, “v2beta1”, etc. The custom resources are served under this version at
    `/apis/<group>/<version>/...` if `served` is true.
    """
    schema: CustomResourceValidation | None = None
    """schema describes the schema used for validation, pruning, and defaulting of this version of the custom resource.
    """
    selectable_fields: list[SelectableField] = []
    """selectableFields specifies paths to fields that may be used as field selectors."""
    served: bool
    """served is a flag enabling/disabling this version from being served via REST APIs"""
    storage: bool
    """storage indicates this version should be used when persisting custom resources to storage."""
    subresources: CustomResourceSubresources | None = None
    """subresources specify what subresources this version of the defined custom resource have."""


class CustomResourceSubresourceScale(ApiModel):
    """CustomResourceSubresourceScale defines how to serve the scale subresource for CustomResources."""

    label_selector_path: str | None = None
    """labelSelectorPath defines the JSON path inside of a custom resource that corresponds to Scale `status.selector`.
    Must be a JSON Path under `.status` or `.spec`. Must be set to work with HorizontalPodAutoscaler.
    """
    spec_replicas_path: str
    """specReplicasPath defines the JSON path inside of a custom resource that corresponds to Scale `spec.replicas`.
    Must be a JSON Path under `.spec`.
    """
    status_replicas_path: str
    """statusReplicasPath defines the JSON path inside of a custom resource that corresponds to Scale `status.replicas`.
    Must be a JSON Path under `.status`.
    """


class CustomResourceSubresourceStatus(ApiModel):
    """CustomResourceSubresourceStatus defines how to serve the status subresource for CustomResources. Status is
    represented by the `.status` JSON path inside of a CustomResource. When set, * exposes a /status subresource for the
    custom resource * PUT requests to the /status subresource take a custom resource object, and ignore changes to
    anything except the status stanza * PUT/POST/PATCH requests to the custom resource ignore changes to the status
    stanza
    """


class CustomResourceSubresources(ApiModel):
    """CustomResourceSubresources defines the status and scale subresources for CustomResources."""

    scale: CustomResourceSubresourceScale | None = None
    """scale indicates the custom resource should serve a `/scale` subresource that returns an `autoscaling/v1` Scale
    object.
    """
    status: CustomResourceSubresourceStatus | None = None
    """status indicates the custom resource should serve a `/status` subresource."""


class CustomResourceValidation(ApiModel):
    """CustomResourceValidation is a list of validation methods for CustomResources."""

    open_apiv3_schema: JSONSchemaProps | None = msgspec.field(name="openAPIV3Schema", default=None)
    """openAPIV3Schema is the OpenAPI v3 schema to use for validation and pruning."""


class ExternalDocumentation(ApiModel):
    """ExternalDocumentation allows referencing an external resource for extended documentation."""

    description: str | None = None
    url: str | None = None


class JSONSchemaProps(ApiModel):
    """JSONSchemaProps is a JSON-Schema following Specification Draft 4 (http://json-schema.org/)."""

    ref: str | None = msgspec.field(name="$ref", default=None)
    schema: str | None = msgspec.field(name="$schema", default=None)
    additional_items: JSONSchemaProps | bool | None = None
    additional_properties: JSONSchemaProps | bool | None = None
    all_of: list[JSONSchemaProps] = []
    any_of: list[JSONSchemaProps] = []
    default: Any = None
    """default is a default value for undefined object fields."""
    definitions: dict[str, JSONSchemaProps] = {}
    dependencies: dict[str, JSONSchemaProps | list[str]] = {}
    description: str | None = None
    enum: list[Any] = []
    example: Any = None
    exclusive_maximum: bool | None = None
    exclusive_minimum: bool | None = None
    external_docs: ExternalDocumentation | None = None
    format: str | None = None
    """format is an OpenAPI v3 format string. Unknown formats are ignored."""
    id: str | None = None
    items: JSONSchemaProps | list[JSONSchemaProps] | None = None
    max_items: int | None = None
    max_length: int | None = None
    max_properties: int | None = None
    maximum: int | float | None = None
    min_items: int | None = None
    min_length: int | None = None
    min_properties: int | None = None
    minimum: int | float | None = None
    multiple_of: int | float | None = None
    not_: JSONSchemaProps | None = None
    nullable: bool | None = None
    one_of: list[JSONSchemaProps] = []
    pattern: str | None = None
    pattern_properties: dict[str, JSONSchemaProps] = {}
    properties: dict[str, JSONSchemaProps] = {}
    required: list[str] = []
    title: str | None = None
    type: str | None = None
    unique_items: bool | None = None
    x_kubernetes_embedded_resource: bool | None = msgspec.field(name="x-kubernetes-embedded-resource", default=None)
    """x-kubernetes-embedded-resource defines that the value is an embedded Kubernetes runtime.Object, with TypeMeta and
    ObjectMeta.
    """
    x_kubernetes_int_or_string: bool | None = msgspec.field(name="x-kubernetes-int-or-string", default=None)
    """x-kubernetes-int-or-string specifies that this value is either an integer or a string."""
    x_kubernetes_list_map_keys: list[str] = msgspec.field(name="x-kubernetes-list-map-keys", default=[])
    """x-kubernetes-list-map-keys annotates an array with the x-kubernetes-list-type `map` by specifying the keys used
    as the index of the map.
    """
    x_kubernetes_list_type: str | None = msgspec.field(name="x-kubernetes-list-type", default=None)
    """x-kubernetes-list-type annotates an array to further describe its topology."""
    x_kubernetes_map_type: str | None = msgspec.field(name="x-kubernetes-map-type", default=None)
    """x-kubernetes-map-type annotates an object to further describe its topology."""
    x_kubernetes_preserve_unknown_fields: bool | None = msgspec.field(name="x-kubernetes-preserve-unknown-fields", default=None)
    """x-kubernetes-preserve-unknown-fields stops the API server decoding step from pruning fields which are not
    specified in the validation schema.
    """
    x_kubernetes_validations: list[ValidationRule] = msgspec.field(name="x-kubernetes-validations", default=[])
    """x-kubernetes-validations describes a list of validation rules written in the CEL expression language."""


class SelectableField(ApiModel):
    """SelectableField specifies the JSON path of a field that may be used with field selectors."""

    json_path: str
    """jsonPath is a simple JSON path which is evaluated against each custom resource to produce a field selector value.
    """


class ServiceReference(ApiModel):
    """ServiceReference holds a reference to Service.legacy.k8s.io"""

    name: str
    """name is the name of the service. Required"""
    namespace: str
    """namespace is the namespace of the service."""
    path: str | None = None
    """path is an optional URL path at which the webhook will be contacted."""
    port: int | None = None
    """port is an optional service port at which the webhook will be contacted. Defaults to 443 for backward
    compatibility.
    """


class ValidationRule(ApiModel):
    """ValidationRule describes a validation rule written in the CEL expression language."""

    field_path: str | None = None
    """fieldPath represents the field path returned when the validation fails."""
    message: str | None = None
    """Message represents the message displayed when validation fails."""
    message_expression: str | None = None
    """MessageExpression declares a CEL expression that evaluates to the validation failure message that is returned
    when this rule fails.
    """
    optional_old_self: bool | None = None
    """optionalOldSelf is used to opt a transition rule into evaluation even when the object is first created, or if the
    old object is missing the value.
    """
    reason: str | None = None
    """reason provides a machine-readable validation failure reason that is returned to the caller when a request fails
    this validation rule.
    """
    rule: str
    """Rule represents the expression which will be evaluated by CEL. ref: https://github.com/google/cel-spec The Rule
    is scoped to the location of the x-kubernetes-validations extension in the schema.
    """


class WebhookClientConfig(ApiModel):
    """WebhookClientConfig contains the information to make a TLS connection with the webhook."""

    ca_bundle: bytes | None = None
    """caBundle is a PEM encoded CA bundle which will be used to validate the webhook's server certificate."""
    service: ServiceReference | None = None
    """service is a reference to the service for this webhook."""
    url: str | None = None
    """url gives the location of the webhook, in standard URL form (`scheme://host:port/path`)."""


class WebhookConversion(ApiModel):
    """WebhookConversion describes how to call a conversion webhook"""

    client_config: WebhookClientConfig | None = None
    """clientConfig is the instructions for how to call the webhook if strategy is `Webhook`."""
    conversion_review_versions: list[str]
    """conversionReviewVersions is an ordered list of preferred `ConversionReview` versions the Webhook expects."""


class CustomResourceDefinition(CustomResourceDefinitionMixin, Object, ApiModel):
    """CustomResourceDefinition represents a resource that should be exposed on the API server. Its name MUST be in the
    format <.spec.name>.<.spec.group>.
    """

    resource: ClassVar[Resource] = _table.APIEXTENSIONS_V1_CUSTOM_RESOURCE_DEFINITION

    spec: CustomResourceDefinitionSpec = msgspec.field(default_factory=lambda: CustomResourceDefinitionSpec(group="", names=CustomResourceDefinitionNames(kind="", plural=""), scope="", versions=[]))
    """spec describes how the user wants the resources to appear"""
    status: CustomResourceDefinitionStatus = msgspec.field(default_factory=CustomResourceDefinitionStatus)
    """status indicates the actual state of the CustomResourceDefinition"""


class CustomResourceDefinitionList(KindList[CustomResourceDefinition]):
    """CustomResourceDefinitionList is a list of CustomResourceDefinition objects."""

    api_version: ClassVar[str] = "apiextensions.k8s.io/v1"
    kind: ClassVar[str] = "CustomResourceDefinitionList"
