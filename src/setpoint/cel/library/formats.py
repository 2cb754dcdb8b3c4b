"""Named formats: ``format.dns1123Label().validate(text)`` returns an optional list of errors, which is absent if the
text is valid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from setpoint.cel.declarations import Library, function, method
from setpoint.cel.types import STRING, Type, list_of, optional_of, struct
from setpoint.cel.values import NONE, Opaque, Optional
from setpoint.meta import names
from setpoint.schema.formats import matches_format
from setpoint.schema.urls import split_url

_FORMAT: Final = struct("kubernetes.NamedFormat")
_Check = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Format(Opaque):
    """A named format, with the function that checks a text."""

    name: str
    check: _Check
    pattern_size: int
    """The length of its regular expression, real or notional; costs depend on it."""

    @property
    def kind(self) -> Type:
        return _FORMAT

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Format) and self.name == other.name


def _known_format(name: str, problem: str) -> _Check:
    return lambda text: [] if matches_format(name, text) else [problem]


def _uri(text: str) -> list[str]:
    try:
        split_url(text)
    except ValueError as problem:
        return [str(problem)]
    return []


def _prefix(check: _Check) -> _Check:
    """A check for a prefix of a name: a trailing dash is allowed, because more text follows it in the name."""
    return lambda text: check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


_FORMATS: Final = {
    "dns1123Label": Format("DNS1123Label", names.dns1123_label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", names.dns1123_subdomain, 60),
    "dns1035Label": Format("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": Format("QualifiedName", names.qualified_name, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(names.dns1123_label), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(names.dns1123_subdomain), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(names.dns1035_label), 30),
    "labelValue": Format("LabelValue", names.label_value, 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _known_format("uuid", "does not match the UUID format"), 74),
    "byte": Format("byte", _known_format("byte", "invalid base64"), 84),
    "date": Format("date", _known_format("date", "invalid date"), 66),
    "datetime": Format("datetime", _known_format("date-time", "invalid datetime"), 66),
}


def _named(name: str) -> Optional:
    format_ = _FORMATS.get(name)
    return NONE if format_ is None else Optional(format_)


def _validate(format_: Format, text: str) -> Optional:
    problems = format_.check(text)
    return Optional(problems) if problems else NONE


def _constant(format_: Format) -> Callable[[], Format]:
    return lambda: format_


FORMATS_LIBRARY: Final = Library(
    (
        method("validate", "format-validate", (_FORMAT, STRING), optional_of(list_of(STRING)), _validate),
        function("format.named", "format-named", (STRING,), optional_of(_FORMAT), _named),
        *(
            function(f"format.{name}", f"format.{name}", (), _FORMAT, _constant(format_))
            for name, format_ in _FORMATS.items()
        ),
    )
)
