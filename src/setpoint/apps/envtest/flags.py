"""Parses command lines as Go programs do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))


_NUMBER: Final = re.compile(r"([+-]?)(0(?=[0-7_]))?([0-9A-Za-z_]+)", re.ASCII)
"""The sign of a number, the leading zero of an octal one, and the rest."""


class FlagError(ValueError):
    """The command line is invalid; the message names the argument."""


class Flag(NamedTuple):
    """A flag. ``kind`` is ``bool``, ``int``, ``text`` or ``list`` (repeated, or with commas between the values).
    ``about`` describes the effect of the flag here; it is empty if there is none.
    """

    kind: str
    about: str = ""


class Flags:
    """The values of the flags that were given, by name."""

    def __init__(self, table: Mapping[str, Flag], values: Mapping[str, list[str]]) -> None:
        self._table = table
        self._values = values

    def text(self, name: str, default: str = "") -> str:
        """The last value of the flag, or ``default`` if the flag was not given."""
        return self._values[name][-1] if self._values.get(name) else default

    def several(self, name: str) -> list[str]:
        parts = (part.strip() for value in self._values.get(name, ()) for part in value.split(","))
        return [part for part in parts if part]

    def number(self, name: str, default: int) -> int:
        value = self.text(name)
        return _integer(value) if value else default

    def true(self, name: str, default: bool) -> bool:
        value = self.text(name)
        return value in _TRUE if value else default

    @property
    def meaningless(self) -> list[str]:
        """The given flags that have no effect here."""
        return [name for name in self._values if not self._table[name].about]


def parse(table: Mapping[str, Flag], arguments: Sequence[str]) -> Flags:
    """The flags in ``arguments``: ``--name=value``, ``--name value``, or ``--name`` for boolean flags. Underscores
    count as hyphens, and a flag may begin with one hyphen instead of two.

    Raises:
        FlagError: there is no such flag, its value is missing or has a wrong form, or an argument is not a flag.
    """
    values: dict[str, list[str]] = {}
    waiting = list(reversed(arguments))
    while waiting:
        argument = waiting.pop()
        if not argument.startswith("-") or argument in ("-", "--"):
            raise FlagError(f"unknown command or argument {argument!r}: there are only flags")
        name, equals, value = argument.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if name not in table and name[:1] == "v" and name[1:].isdigit():  # -v4
            name, equals, value = "v", "=", name[1:]
        flag = table.get(name)
        if flag is None:
            raise FlagError(f"unknown flag: {argument.partition('=')[0]}")
        if not equals:
            if flag.kind == "bool":
                value = "true"
            elif not waiting:
                raise FlagError(f"flag needs an argument: --{name}")
            else:
                value = waiting.pop()
        _check(name, flag, value)
        values.setdefault(name, []).append(value)
    return Flags(table, values)


def _check(name: str, flag: Flag, value: str) -> None:
    wrong = ""
    if flag.kind == "bool" and value not in _TRUE | _FALSE:
        wrong = "the value must be true or false"
    elif flag.kind == "int":
        try:
            _integer(value)
        except ValueError:
            wrong = "it is not a whole number of 64 bits"
    if wrong:
        raise FlagError(f'invalid argument "{value}" for "--{name}" flag: {wrong}')


def _integer(text: str) -> int:
    """The value of an integer as Go's ``strconv.ParseInt`` reads it with base 0: ``010`` and ``0o10`` are octal.

    Raises ValueError for a text of a different form, or a value that does not fit into 64 bits.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(text)
    sign, zero, rest = match.groups()
    number = int(f"{sign}{'0o' if zero else ''}{rest}", 0)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(text)
    return number


def http_address(name: str, url: str, default_port: int | None = None) -> tuple[str, int]:
    """The host and the port of ``url``, which is the value of the flag ``name``.

    Raises:
        FlagError: ``url`` is not of the form http://HOST:PORT, or has no port and there is no default.
    """
    try:
        parts = urlsplit(url)
        port = default_port if parts.port is None else parts.port
    except ValueError as problem:
        raise FlagError(f"--{name}={url}: {problem}") from None
    if parts.scheme != "http" or not parts.hostname or port is None:
        raise FlagError(f"--{name}={url}: only http://HOST:PORT is supported here")
    return parts.hostname, port


def help_text(program: str, about: str, table: Mapping[str, Flag]) -> str:
    """The text of ``--help``: one flag per line, because programs look for flags in it."""
    lines = [about, "", "Usage:", f"  {program} [flags]", "", "Flags:"]
    width = max(len(name) + len(flag.kind) for name, flag in table.items()) + 4
    for name, flag in table.items():
        usage = f"--{name} {'' if flag.kind == 'bool' else flag.kind}"
        lines.append(f"      {usage:<{width}} {flag.about or 'accepted, but does nothing here'}")
    return "\n".join(lines)
