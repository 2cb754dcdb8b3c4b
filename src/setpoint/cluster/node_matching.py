"""Matching of pods and nodes: node selector, node affinity, taints and tolerations."""

from __future__ import annotations

from collections.abc import Iterable

from setpoint.models.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    Taint,
    Toleration,
)

_NAME = "metadata.name"


def fits(spec: PodSpec, node: Node) -> bool:
    """Whether the node matches the pod's node selector and required node affinity."""
    if any(node.labels.get(name) != value for name, value in spec.node_selector.items()):
        return False
    terms = _terms(spec)
    return terms is None or any(holds(term, node) for term in terms)


def selects(selector: NodeSelector, node: Node) -> bool:
    """Whether the node matches one of the selector's terms."""
    return any(holds(term, node) for term in selector.node_selector_terms)


def tolerates(tolerations: Iterable[Toleration], taints: Iterable[Taint], effects: Iterable[str]) -> bool:
    all_tolerations, counted = list(tolerations), set(effects)
    return all(
        any(covers(toleration, taint) for toleration in all_tolerations) for taint in taints if taint.effect in counted
    )


def pin(spec: PodSpec, node: str) -> None:
    """Replaces the pod's required node affinity with one that allows only this node."""
    term = NodeSelectorTerm(match_fields=[NodeSelectorRequirement(key=_NAME, operator="In", values=[node])])
    spec.affinity = spec.affinity or Affinity()
    spec.affinity.node_affinity = spec.affinity.node_affinity or NodeAffinity()
    spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution = NodeSelector(
        node_selector_terms=[term]
    )


def pinned(spec: PodSpec) -> str | None:
    """The only node that the pod's node affinity allows; None if the affinity is not limited to a single node."""
    for term in _terms(spec) or ():
        for requirement in term.match_fields:
            if (requirement.key, requirement.operator) == (_NAME, "In") and len(requirement.values) == 1:
                return requirement.values[0]
    return None


def _terms(spec: PodSpec) -> list[NodeSelectorTerm] | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return None if required is None else required.node_selector_terms


def holds(term: NodeSelectorTerm, node: Node) -> bool:
    """Whether the node matches the term; a term without requirements matches no node."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_meets(requirement, node.labels.get(requirement.key)) for requirement in term.match_expressions) and all(
        _meets(requirement, node.name if requirement.key == _NAME else None) for requirement in term.match_fields
    )


def _meets(requirement: NodeSelectorRequirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            try:
                number, bound = int(value or ""), int(requirement.values[0])
            except (ValueError, IndexError):
                return False
            return number > bound if operator == "Gt" else number < bound
        case _:
            return False


def covers(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration tolerates the taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and (toleration.value or "") == (taint.value or "")
