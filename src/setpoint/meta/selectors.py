"""Label and field selectors, which are parsed once and matched often."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from setpoint.meta.selector_requirements import (
    FieldRequirement,
    Operator,
    Requirement,
    SelectorError,
    checked,
    parse_fields,
    parse_labels,
)


class LabelSelectorRequirement(Struct, kw_only=True, omit_defaults=True):
    """An entry of ``matchExpressions``: its operator is ``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""

    key: str
    operator: str
    values: list[str] = []


class LabelSelector(Struct, kw_only=True, omit_defaults=True):
    """A label selector in an object's spec. An empty one selects everything; all requirements must hold."""

    match_labels: dict[str, str] = field(name="matchLabels", default={})
    match_expressions: list[LabelSelectorRequirement] = field(name="matchExpressions", default=[])


class Selector:
    """Requirements on labels, all of which must hold. The empty selector matches everything.

    Selectors with the same requirements, in any order, compare and hash equal, so they can identify a shared informer.
    """

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        unordered = list(requirements)
        texts = [str(requirement) for requirement in unordered]
        by_text = dict(zip(texts, unordered, strict=True))
        self.requirements = tuple([by_text[text] for text in sorted(texts)])

    @classmethod
    def parse(cls, text: str) -> Selector:
        """The selector in kubectl's form: ``app=web,tier!=db,env in (a,b),!legacy,gen>3``.

        Raises:
            SelectorError: the syntax, a key or a value is not valid.
        """
        return cls(parse_labels(text))

    @classmethod
    def of(cls, selector: str | Mapping[str, str] | LabelSelector | Selector | None) -> Selector:
        """The `Selector` for any form in which users can write one: a string, a mapping from labels to
        values, a `LabelSelector`, or None, which is the empty selector. A `Selector` is returned as
        it is.

        Raises:
            SelectorError: the selector is not valid.
        """
        if selector is None:
            return EVERYTHING
        if isinstance(selector, Selector):
            return selector
        if isinstance(selector, str):
            return cls.parse(selector)
        if isinstance(selector, LabelSelector):
            return cls.from_label_selector(selector)
        return cls(checked(key, "=", (value,)) for key, value in selector.items())

    @classmethod
    def from_label_selector(cls, selector: LabelSelector) -> Selector:
        requirements = [checked(key, "=", (value,)) for key, value in selector.match_labels.items()]
        for expression in selector.match_expressions:
            values = frozenset(expression.values)
            operators: dict[str, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
            operator = operators.get(expression.operator)
            if operator is None:
                raise SelectorError(f"{expression.operator!r} is not a valid label selector operator")
            if (operator in ("in", "notin")) != bool(values):
                raise SelectorError(f"values of {expression.key!r} must be given for In and NotIn and only for them")
            requirements.append(checked(expression.key, operator, values))
        return cls(requirements)

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        labels = labels or {}
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        """The text of the selector, in the order of keys; of several about one key, equality comes first."""
        return ",".join(map(str, sorted(self.requirements, key=lambda item: (item.key, item.operator != "="))))

    def __repr__(self) -> str:
        return f"Selector.parse({str(self)!r})"


EVERYTHING = Selector()


class FieldSelector:
    """Requirements on fields: ``metadata.name=web,status.phase!=Running``. The kind determines which fields a selector
    may use.
    """

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements))

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """The selector in text such as ``metadata.name=web``; values may contain ``\\,``, ``\\=`` and ``\\\\``.

        Raises:
            SelectorError: a part has no operator, or an escape is missing or not valid.
        """
        return cls(parse_fields(text))

    @classmethod
    def of(cls, selector: str | Mapping[str, str] | FieldSelector | None) -> FieldSelector:
        if isinstance(selector, FieldSelector):
            return selector
        if selector is None or isinstance(selector, str):
            return cls.parse(selector or "")
        return cls(FieldRequirement(name, True, value) for name, value in selector.items())

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all((fields.get(name, "") == value) is equal for name, equal, value in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(f"{name}{'=' if equal else '!='}{_escape(value)}" for name, equal, value in self.requirements)


def _escape(value: str) -> str:
    return re.sub(r"([\\,=])", r"\\\1", value)
