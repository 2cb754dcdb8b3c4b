"""The webhooks that a program serves: its admissions, and the conversions that its kinds need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from setpoint.crd import CustomResource, Versions
from setpoint.crd.newest_version import newest_of
from setpoint.webhook.admission import Admission
from setpoint.webhook.conversion import Converter


def with_conversions(
    served: Iterable[Admission[Any] | Converter], kinds: Iterable[type[Any]]
) -> list[Admission[Any] | Converter]:
    """The given webhooks, plus conversions for the ``kinds`` that need conversion and that no given webhook converts.

    The kinds of the admissions are included, and any version of a kind stands for all its versions.

    Raises:
        DefinitionError: see `setpoint.crd.newest_version.newest_of`.
    """
    webhooks = list(served)
    for kind in [*kinds, *(admission.kind for admission in webhooks if isinstance(admission, Admission))]:
        if issubclass(kind, CustomResource):
            versions = Versions.of(newest_of(kind))
            if versions.need_webhook and not any(
                not isinstance(webhook, Admission) and webhook.group_kind == versions.group_kind for webhook in webhooks
            ):
                webhooks.append(versions)
    return webhooks
