"""The custom resources of the small controllers here."""

from __future__ import annotations

import setpoint as sp


class AppSpec(sp.Model):
    size: int = 1
    feature: bool = False


class AppStatus(sp.ConditionedStatus):
    ready: int = 0
    note: str = ""


class App(sp.CustomResource, group="test.example.com", version="v1"):
    spec: AppSpec = AppSpec()
    status: AppStatus = AppStatus()
