"""The interfaces that a strategy uses: of the request that writes, of the server's definitions and configurations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from random import Random
from typing import Any, Protocol

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.authorizer import Authorizer
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.resources.service_networks import ServiceNetwork
from setpoint.apiserver.storage import Damage, Record, Storage

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

    def prepare(self, crd: JsonObject) -> None:
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
    def dry_run(self) -> bool: ...

    @property
    def plugins_off(self) -> Collection[str]:
        """The admission plugins that are turned off."""
        ...

    @property
    def service_networks(self) -> Sequence[ServiceNetwork]:
        """The networks of the addresses of services, without those of ServiceCIDRs, default family first."""
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
