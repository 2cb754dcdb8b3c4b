"""The protocol by which handlers of requests treat resources differently; `setpoint.apiserver.strategies` has them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from random import Random
from typing import Any, Protocol

from setpoint.apiserver.access.authorizer import Authorizer
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.storage import Damage, Record, Storage
from setpoint.meta import Resource
from setpoint.patch import FieldSet
from setpoint.schema import FieldError

__all__ = ["AdmissionConfigurations", "Behaviour", "Definitions", "JsonObject", "NameRule", "WriteContext"]

JsonObject = dict[str, Any]
NameRule = Callable[[str], list[str]]
"""Returns the problems of a name; empty if it is valid."""


class Definitions(Protocol):
    """CustomResourceDefinitions, which are followed as they are written."""

    @property
    def damage(self) -> list[Damage]:
        """Stored ones that can't be served as they are."""
        ...

    def created(self, record: Record) -> Record:
        """Called after a CRD was stored for the first time; returns its new record."""
        ...

    def updated(self, record: Record, old: JsonObject) -> Record:
        """Called after a CRD was changed, or marked as being deleted; returns its new record."""
        ...

    def deleted(self, record: Record) -> None:
        """Called after a CRD is gone."""
        ...

    def foresee(self, crd: JsonObject) -> None:
        """Called before a CRD is stored."""
        ...


class AdmissionConfigurations(Protocol):
    """Configurations of admission webhooks and policies, which are followed as they are written."""

    @property
    def damage(self) -> list[Damage]:
        """Stored ones that can't be used as they are."""
        ...

    def refresh(self, written: Record | None = None) -> None:
        """Reads them all again. Raises what is wrong with the one that was just ``written``."""
        ...


class WriteContext(Protocol):
    """The part of a writing request, and of the server, that a behaviour may use."""

    @property
    def storage(self) -> Storage: ...
    @property
    def user(self) -> UserInfo: ...
    @property
    def authorizer(self) -> Authorizer | None:
        """None where everything is allowed."""
        ...

    @property
    def name(self) -> str:
        """The object's name in the request's path; empty if there is none."""
        ...

    @property
    def verb(self) -> str:
        """The request's verb as roles name it."""
        ...

    @property
    def subresource(self) -> str:
        """The one that the request is sent to; empty if it is the object itself."""
        ...

    @property
    def dry_run(self) -> bool:
        """Whether the parameter of that name is given."""
        ...

    @property
    def plugins_off(self) -> Collection[str]:
        """The admission plugins that are not asked."""
        ...

    @property
    def random(self) -> Random: ...
    @property
    def definitions(self) -> Definitions: ...
    @property
    def configurations(self) -> AdmissionConfigurations: ...
    def now(self) -> datetime: ...
    def timestamp(self) -> str:
        """The current time, in the form of Kubernetes' timestamps."""
        ...


class Behaviour(Protocol):
    """One resource's own rules; upstream's ``rest.RESTCreateStrategy`` and its like.

    Objects are plain JSON values of the served version. Methods that get an object to change may change it in place;
    ``old`` is never to be changed.
    """

    def name_rule(self, name: str, /) -> list[str]:
        """The problems of a name; empty if it is valid."""
        ...

    def read(self, obj: JsonObject) -> None:
        """Brings into its form what upstream reads of an incoming object from texts, such as annotations.

        Raises ValueError for a text that can't be read.
        """
        ...

    def prefix_rule(self, name: str, /) -> list[str]:
        """The problems of a ``generateName``; empty if it is valid."""
        ...

    @property
    def counts_dropped(self) -> bool:
        """Whether fields of features that are off count in the generation, though they are dropped."""
        ...

    @property
    def draws_names(self) -> bool:
        """Whether a generated name is ``generateName`` and random characters, and not ``generateName`` alone."""
        ...

    @property
    def create_on_update(self) -> bool:
        """Whether a PUT of an object that does not exist creates it."""
        ...

    @property
    def unconditional_update(self) -> bool:
        """Whether an update may come without resourceVersion."""
        ...

    @property
    def generation(self) -> bool:
        """Whether ``metadata.generation`` counts changes of the desired state."""
        ...

    @property
    def collectable(self) -> bool:
        """Whether dependents of an object may be orphaned or awaited when it is deleted."""
        ...

    @property
    def propagation(self) -> str:
        """The propagation policy of a deletion that does not name one."""
        ...

    @property
    def propagation_warning(self) -> str:
        """The warning for a client that leaves it at that."""
        ...

    @property
    def returns_deleted(self) -> bool:
        """Whether a deletion answers with the object even when it is gone."""
        ...

    @property
    def says_required(self) -> bool:
        """Whether `validate` says, too, what is missing; else the schema does."""
        ...

    @property
    def zero(self) -> JsonObject:
        """The fields that every object has on the server, whatever was sent; no manager owns them."""
        ...

    def default(self, obj: JsonObject) -> None:
        """Sets the defaults of fields that were left out."""
        ...

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        """Called before validation. The status, where it is a subresource, is dropped already."""
        ...

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        """Called before validation. The status, where it is a subresource, is the old one already."""
        ...

    def prepare_subresource_update(
        self, call: WriteContext, subresource: str, new: JsonObject, old: JsonObject
    ) -> JsonObject:
        """The object that results from an update of ``/status`` or its like; ``new`` is what was sent."""
        ...

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Everything wrong with the object beyond its schema; ``old`` is None on creation."""
        ...

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        """The errors in an update of ``/status`` or another subresource."""
        ...

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]: ...
    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        """Whether the generation goes up."""
        ...

    def grace_period(self, obj: JsonObject, wanted: int | None) -> int | None:
        """Seconds that a deletion leaves the object, or None for resources that are deleted at once; ``wanted``: what
        the request says."""
        ...

    def check_delete(self, call: WriteContext, obj: JsonObject) -> None:
        """May refuse a deletion by raising ApiStatusError."""
        ...

    def keeps(self, obj: JsonObject) -> bool:
        """Whether an object that is being deleted must stay although it has no finalizers in its metadata."""
        ...

    def ignored_fields(self, subresource: str) -> FieldSet:
        """The fields that requests to the main resource or a subresource can't set and so don't own."""
        ...

    def convert(self, obj: JsonObject, target: Resource) -> JsonObject:
        """``obj`` in the version that ``target`` is; may be changed in place."""
        ...

    def foresee(self, call: WriteContext, obj: JsonObject) -> None:
        """Does long preparations, as the last step before the object is stored: after it no other request runs."""
        ...

    def after_create(self, call: WriteContext, record: Record) -> Record:
        """Called right after the object was stored; returns the record that the answer shows."""
        ...

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record: ...
    def after_delete(self, call: WriteContext, record: Record) -> None: ...
