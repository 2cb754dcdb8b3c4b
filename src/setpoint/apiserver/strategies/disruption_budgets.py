"""Disruption budgets: the number of pods that must stay available."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.meta.names import path_segment
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, not_supported

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_PERCENT: Final = re.compile("[0-9]+%")
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class DisruptionBudgets(Strategy):
    """Disruption budgets; `setpoint.apiserver.subresources.disruption_budgets` enforces them on evictions."""

    generation = True
    says_required = True
    name_rule = staticmethod(path_segment)
    checked_last = ("metadata.",)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj.setdefault("spec", {})
        obj["status"] = dict.fromkeys(_COUNTS, 0)

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors: list[FieldError] = []
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if least is not None and most is not None:
            bad_value = dump("policy.PodDisruptionBudgetSpec", spec)
            errors.append(invalid("spec", bad_value, "minAvailable and maxUnavailable cannot be both set"))
        for name, value in (("minAvailable", least), ("maxUnavailable", most)):
            if value is not None:
                errors += _share_errors(value, f"spec.{name}")
        errors += label_selector_errors(spec.get("selector"), "spec.selector")
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in ("AlwaysAllow", "IfHealthyBudget"):
            allowed = ("AlwaysAllow", "IfHealthyBudget")
            errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, allowed))
        return errors


def _share_errors(value: Any, path: str) -> list[FieldError]:
    """The errors in a number of pods or a percentage of pods."""
    if isinstance(value, int):
        return [invalid(path, value, "must be greater than or equal to 0")] if value < 0 else []
    if not _PERCENT.fullmatch(str(value)):
        text = (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
            "regex used for validation is '[0-9]+%')"
        )
        return [invalid(path, value, text)]
    digits = value[:-1].lstrip("0")
    return [invalid(path, value, "must not be greater than 100%")] if len(digits) > 3 or int(digits or 0) > 100 else []
