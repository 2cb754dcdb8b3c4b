"""The protocol for the behaviour that differs between resources. Request handlers call its methods;
`setpoint.apiserver.strategies` implements them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from ipaddress import IPv4Network
from random import Random
from typing import Any, Protocol

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.authorizer import Authorizer
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.storage import Damage, Record, Storage
from setpoint.meta import Resource
from setpoint.patch import FieldSet
from setpoint.schema import FieldError

JsonObject = dict[str, Any]
NameRule = Callable[[str], list[str]]
"""A function that returns the problems with a name; the list is empty if the name is valid."""


class Definitions(Protocol):
    """Follows the stored CustomResourceDefinitions."""

    @property
    def damage(self) -> list[Damage]:
        """The stored CRDs that can't be served in their present form."""
        ...

    def created(self, record: Record) -> Record:
        """Handles a CRD that was just created; returns its new record."""
        ...

    def updated(self, record: Record, old: JsonObject) -> Record:
        """Handles a CRD that was just changed or marked for deletion; returns its new record."""
        ...

    def deleted(self, record: Record) -> None:
        """Handles a CRD that was just deleted."""
        ...

    def foresee(self, crd: JsonObject) -> None:
        """Parses the schemas of a CRD that is about to be stored, which may take a long time."""
        ...


class AdmissionConfigurations(Protocol):
    """Follows the stored configurations of admission webhooks and policies."""

    @property
    def damage(self) -> list[Damage]:
        """The stored configurations that can't be used in their present form."""
        ...

    def refresh(self, record: Record | None = None) -> None:
        """Reads all configurations again. Raises the error of the configuration that was just ``record``, if it has
        one.
        """
        ...


class WriteContext(Protocol):
    """The attributes of a write request and of the server that a behaviour may use."""

    @property
    def storage(self) -> Storage: ...
    @property
    def user(self) -> UserInfo: ...
    @property
    def authorizer(self) -> Authorizer | None:
        """The server's authorizer; None if everything is allowed."""
        ...

    def note_refusal(self, attributes: Attributes) -> None:
        """Adds a permission that the user lacks to the server's access record, if there is one."""
        ...

    @property
    def name(self) -> str:
        """The object's name in the request's path; empty if there is none."""
        ...

    @property
    def verb(self) -> str:
        """The verb of the request, as in roles."""
        ...

    @property
    def subresource(self) -> str:
        """The subresource that the request addresses; empty if it addresses the object itself."""
        ...

    @property
    def dry_run(self) -> bool:
        """Whether the request has the parameter ``dryRun``."""
        ...

    @property
    def plugins_off(self) -> Collection[str]:
        """The admission plugins that are turned off."""
        ...

    @property
    def service_network(self) -> IPv4Network:
        """The network of the addresses of services, without the networks of ServiceCIDRs."""
        ...

    @property
    def random(self) -> Random: ...
    @property
    def definitions(self) -> Definitions: ...
    @property
    def configurations(self) -> AdmissionConfigurations: ...
    def now(self) -> datetime: ...
    def timestamp(self) -> str:
        """The current time as a Kubernetes timestamp."""
        ...


class Behaviour(Protocol):
    """The rules of one resource; upstream's ``rest.RESTCreateStrategy`` and the like.

    Objects are plain JSON values of the served version. A method whose purpose is to change an object may do so in
    place; no method may change ``old``.
    """

    def name_rule(self, name: str, /) -> list[str]:
        """The problems with a name; empty if it is valid."""
        ...

    def read(self, obj: JsonObject) -> None:
        """Normalizes the strings of an incoming object that upstream parses while it decodes the object, such as
        annotations.

        Raises ValueError for a string that can't be parsed.
        """
        ...

    def prefix_rule(self, name: str, /) -> list[str]:
        """The problems with a ``generateName``; empty if it is valid."""
        ...

    @property
    def checked_last(self) -> tuple[str, ...]:
        """The path prefixes of the fields whose errors are reported for a new object only if it has no other errors."""
        ...

    @property
    def counts_dropped(self) -> bool:
        """Whether the generation also counts changes to fields that are dropped because their feature is off."""
        ...

    @property
    def created_with_status(self) -> bool:
        """Whether a new object keeps the status with which it was sent."""
        ...

    @property
    def draws_names(self) -> bool:
        """Whether a generated name is ``generateName`` followed by random characters; otherwise it is ``generateName``
        alone.
        """
        ...

    @property
    def create_on_update(self) -> bool:
        """Whether a PUT of an object that does not exist creates it."""
        ...

    @property
    def unconditional_update(self) -> bool:
        """Whether an update may omit resourceVersion."""
        ...

    @property
    def generation(self) -> bool:
        """Whether ``metadata.generation`` counts the changes to the desired state."""
        ...

    @property
    def collectable(self) -> bool:
        """Whether a deletion of an object may orphan its dependents or wait for them."""
        ...

    @property
    def propagation(self) -> str:
        """The propagation policy of a deletion that does not specify one."""
        ...

    @property
    def propagation_warning(self) -> str:
        """The warning for a client whose deletion does not specify a propagation policy."""
        ...

    @property
    def returns_deleted(self) -> bool:
        """Whether the response to a deletion is the object even if the object no longer exists."""
        ...

    @property
    def says_required(self) -> bool:
        """Whether `validate` reports missing fields too; otherwise the schema does."""
        ...

    @property
    def zero(self) -> JsonObject:
        """The fields that every object has on the server, even if they were not sent; no field manager owns them."""
        ...

    def default(self, obj: JsonObject) -> None:
        """Sets the defaults of missing fields."""
        ...

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        """Prepares a new object for validation. The status, if it is a subresource, has already been dropped, except
        with `created_with_status`.
        """
        ...

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        """Prepares a changed object for validation. The status, if it is a subresource, has already been reset to the
        old status.
        """
        ...

    def prepare_subresource_update(
        self, call: WriteContext, subresource: str, new: JsonObject, old: JsonObject
    ) -> JsonObject:
        """The object that results from an update of ``/status`` or another subresource; ``new`` is the object that was
        sent.
        """
        ...

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The errors in the object beyond those of its schema; ``old`` is None on creation."""
        ...

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        """The errors in an update of ``/status`` or another subresource."""
        ...

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        """Whether a change increases the generation."""
        ...

    def grace_period(self, obj: JsonObject, wanted: int | None) -> int | None:
        """The grace period of a deletion in seconds; None for resources that are deleted immediately. ``wanted`` is the
        period in the request.
        """
        ...

    def check_delete(self, call: WriteContext, obj: JsonObject) -> None:
        """Checks a deletion before it begins. Raises ApiStatusError to refuse it."""
        ...

    def keeps(self, obj: JsonObject) -> bool:
        """Whether an object that is being deleted must stay although its metadata has no finalizers
        left.
        """
        ...

    def ignored_fields(self, subresource: str) -> FieldSet:
        """The fields that requests to the main resource or to a subresource can't set and therefore don't own."""
        ...

    def convert(self, obj: JsonObject, target: Resource) -> JsonObject:
        """``obj`` in the version of ``target``; ``obj`` itself may be changed."""
        ...

    def foresee(self, call: WriteContext, obj: JsonObject) -> None:
        """Makes preparations that take a long time, and sets defaults that validation must not see. This is the last
        step before the object is stored: no other request runs between this step and the write.
        """
        ...

    def after_create(self, call: WriteContext, record: Record) -> Record:
        """Handles an object that was just stored; returns the record for the response."""
        ...

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record: ...
    def after_delete(self, call: WriteContext, record: Record) -> None: ...
