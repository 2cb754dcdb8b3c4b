"""Pace: how fast an autoscaler may follow its metrics."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Final, NamedTuple

from setpoint.models.autoscaling_v2 import HorizontalPodAutoscalerBehavior, HPAScalingPolicy, HPAScalingRules

DOWN_WINDOW: Final = 300
"""The default stabilization window for scaling down, in seconds."""
_MOST: Final = 2**31 - 1


class Verdict(NamedTuple):
    """A number of replicas, and the reason for it."""

    replicas: int
    reason: str
    message: str


class Pace:
    """The memory of one autoscaler: its recommendations, and the times and sizes of its changes.

    As in upstream, this memory is lost when the process ends. In the next process, the present number of replicas
    counts as the first recommendation.
    """

    def __init__(self) -> None:
        self._recommended: list[tuple[float, int]] = []
        self._changed: list[tuple[float, int]] = []

    def begin(self, replicas: int, now: float) -> None:
        """Records ``replicas`` as the first recommendation, unless there is one already."""
        if not self._recommended:
            self._recommended.append((now, replicas))

    def changed(self, by: int, now: float) -> None:
        """Records that the number of replicas has changed by ``by`` (negative if it has decreased)."""
        self._changed = [(at, change) for at, change in self._changed if now - at <= 3600.0]
        self._changed.append((now, by))

    def stabilized(
        self, wanted: int, current: int, behavior: HorizontalPodAutoscalerBehavior | None, now: float
    ) -> Verdict:
        """The recommendation to follow: before scaling down, the highest one within the stabilization window; before
        scaling up, the lowest one. ``wanted`` is recorded as the newest recommendation.
        """
        up_window = _window(behavior.scale_up if behavior is not None else None, 0)
        down_window = _window(behavior.scale_down if behavior is not None else None, DOWN_WINDOW)
        longest = max(up_window, down_window)
        self._recommended = [(at, replicas) for at, replicas in self._recommended if now - at <= longest]
        if behavior is None:
            recommendation = max([wanted, *(replicas for at, replicas in self._recommended if now - at <= down_window)])
        else:
            up = min([wanted, *(replicas for at, replicas in self._recommended if now - at < up_window)])
            down = max([wanted, *(replicas for at, replicas in self._recommended if now - at < down_window)])
            recommendation = min(max(current, up), down)
        self._recommended.append((now, wanted))
        if recommendation == wanted:
            return Verdict(recommendation, "ReadyForNewScale", "recommended size matches current size")
        if behavior is None or wanted < current:
            text = "recent recommendations were higher than current one, applying the highest recent recommendation"
            return Verdict(recommendation, "ScaleDownStabilized", text)
        text = "recent recommendations were lower than current one, applying the lowest recent recommendation"
        return Verdict(recommendation, "ScaleUpStabilized", text)

    def limited(
        self,
        wanted: int,
        current: int,
        least: int,
        most: int,
        behavior: HorizontalPodAutoscalerBehavior | None,
        now: float,
    ) -> Verdict:
        """The wanted number of replicas, or the nearest number that the limits and the policies of ``behavior`` allow
        now.
        """
        upper, lower = most, least
        rate = False
        if behavior is None:
            limit = max(2 * current, 4)
            rate = most > limit
            upper = min(most, limit)
        elif wanted > current:
            limit = max(self._up_limit(current, behavior.scale_up or HPAScalingRules(), now), current)
            rate = most > limit
            upper = min(most, limit)
        elif wanted < current:
            limit = min(self._down_limit(current, behavior.scale_down or HPAScalingRules(), now), current)
            rate = least < limit
            lower = max(least, limit)
        if wanted > upper:
            if rate:
                text = "the desired replica count is increasing faster than the maximum scale rate"
                return Verdict(upper, "ScaleUpLimit", text)
            return Verdict(
                upper, "TooManyReplicas", "the desired replica count is more than the maximum replica count"
            )  # fmt: skip
        if wanted < lower:
            if rate and behavior is not None:
                text = "the desired replica count is decreasing faster than the maximum scale rate"
                return Verdict(lower, "ScaleDownLimit", text)
            return Verdict(lower, "TooFewReplicas", "the desired replica count is less than the minimum replica count")
        return Verdict(wanted, "DesiredWithinRange", "the desired count is within the acceptable range")

    def _up_limit(self, current: int, rules: HPAScalingRules, now: float) -> int:
        if rules.select_policy == "Disabled":
            return current
        policies = rules.policies or [_policy("Pods", 4), _policy("Percent", 100)]
        limits = [
            start + policy.value if policy.type == "Pods" else ceil(start * (1 + policy.value / 100))
            for policy, start in self._starts(policies, current, now)
        ]
        return (min if rules.select_policy == "Min" else max)(limits)

    def _down_limit(self, current: int, rules: HPAScalingRules, now: float) -> int:
        if rules.select_policy == "Disabled":
            return current
        policies = rules.policies or [_policy("Percent", 100)]
        limits = [
            start - policy.value if policy.type == "Pods" else int(start * (1 - policy.value / 100))
            for policy, start in self._starts(policies, current, now)
        ]
        return (max if rules.select_policy == "Min" else min)(limits)

    def _starts(
        self, policies: Iterable[HPAScalingPolicy], current: int, now: float
    ) -> list[tuple[HPAScalingPolicy, int]]:
        """Each policy with the number of replicas at the beginning of its period."""
        return [
            (policy, current - sum(by for at, by in self._changed if now - at < policy.period_seconds))
            for policy in policies
        ]


def _policy(type: str, value: int) -> HPAScalingPolicy:
    return HPAScalingPolicy(type=type, value=value, period_seconds=15)


def _window(rules: HPAScalingRules | None, default: int) -> int:
    seconds = rules.stabilization_window_seconds if rules is not None else None
    return default if seconds is None else seconds
