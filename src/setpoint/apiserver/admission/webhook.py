"""One configured admission webhook."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.admission.match_conditions import MatchConditions
from setpoint.apiserver.admission.matching import Matching
from setpoint.apiserver.webhooks.caller import Target
from setpoint.apiserver.webhooks.responses import review_version

JsonObject = dict[str, Any]


class Webhook:
    """One entry of ``webhooks`` in a stored configuration, which was validated when it was written. ``uid``
    distinguishes the webhook from all others. ``audience`` is that of tokens for it (KEP-6060).
    """

    __slots__ = (
        "audience",
        "conditions",
        "configuration",
        "dry_runs",
        "ignores_failure",
        "matching",
        "name",
        "reinvoked",
        "review",
        "target",
        "timeout",
        "uid",
    )

    def __init__(self, configuration: str, spec: JsonObject) -> None:
        self.name: str = spec["name"]
        self.configuration = configuration
        self.uid = f"{configuration}/{self.name}"
        self.timeout: int = spec.get("timeoutSeconds") or 10
        self.ignores_failure = spec.get("failurePolicy") == "Ignore"
        self.dry_runs = spec.get("sideEffects") in ("None", "NoneOnDryRun")
        self.reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"
        self.target = Target.of(spec["clientConfig"], f"timeout={self.timeout}s")
        self.audience: str = spec["clientConfig"].get("url") or self.target.url.partition("?")[0]
        self.review = f"admission.k8s.io/{review_version(spec.get('admissionReviewVersions'))}"
        self.matching = Matching({**spec, "resourceRules": spec.get("rules")})
        self.conditions = MatchConditions(spec.get("matchConditions") or (), ignores_failure=self.ignores_failure)
