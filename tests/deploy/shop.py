"""An operator with everything: two versions, webhooks, children, a Secret that is applied without being owned."""

from __future__ import annotations

from typing import Any

import setpoint as sp
from setpoint.controller import watched_kinds
from setpoint.deploy.installation import Installation
from setpoint.models.apps_v1 import StatefulSet
from setpoint.models.core_v1 import Secret, Service
from setpoint.webhook import with_conversions


class OldSpec(sp.Model):
    size: int = 1


class ShopV1(sp.CustomResource, group="shop.example.com", version="v1", kind="Shop", storage=False):
    """A shop, as it was."""

    spec: OldSpec
    status: sp.ConditionedStatus = sp.ConditionedStatus()


class ShopSpec(sp.Model):
    replicas: int = 1


class Shop(
    sp.CustomResource,
    group="shop.example.com",
    version="v2",
    conversions=(sp.Conversion(ShopV1).rename("spec.size", "spec.replicas"),),
):
    """A shop, with braces in its description: {{ not a reference }}."""

    spec: ShopSpec
    status: sp.ConditionedStatus = sp.ConditionedStatus()


async def reconcile(shop: Shop, ctx: sp.Context) -> None:
    """Nothing to do."""


def fill_in(shop: Shop) -> None:
    """Nothing to fill in."""


controller = sp.Controller(Shop, reconcile).owns(StatefulSet).owns(Service).needs(Secret, "create", "patch")
admission = sp.Admission(Shop).defaults(fill_in)


def operator(**changes: Any) -> Installation:
    """The operator, in the namespace ``shops``."""
    served = with_conversions([admission], watched_kinds([controller]))
    return Installation(
        **{
            "program": "shop.shop.example.com",
            "image": "registry.example.com:5000/shop:1.2.3",
            "controllers": [controller],
            "served": served,
            "configuration": "shop.example.com",
            "kinds": [Shop],
            "namespace": "shops",
            **changes,
        }
    )
