"""Verbs: everything that a client does with objects, independent of its connections."""

from __future__ import annotations

from setpoint.client.deleting import Deleting
from setpoint.client.field_ownership import TakingOver
from setpoint.client.subresources import Subresources
from setpoint.client.waiting import Waiting


class Verbs(Waiting, TakingOver, Deleting, Subresources):
    """The verbs for objects of any kind; a part of `setpoint.client.Client`."""
