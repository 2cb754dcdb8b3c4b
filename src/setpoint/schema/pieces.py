"""Long JSON texts, decoded in pieces so that other tasks can run in between."""

from __future__ import annotations

import re
from json import JSONDecodeError
from secrets import token_hex
from typing import Any, Final, Protocol

import msgspec

from setpoint.slices import in_slices, spend

from .node import JSON

__all__ = ["LONG", "Objects", "decode_in_pieces", "decode_valid", "goes_on"]

LONG: Final = 1 << 17
"""Shorter texts are decoded at once."""
_STEP: Final = 1 << 6
_PIECE: Final = 1 << 15
"""The length of the longest piece, unless a string or number is longer."""
_NO_BRACKETS: Final = {code: None for code in range(128) if chr(code) not in "{}[]"}
_RUN: Final = re.compile(r"[\[{]++|[\]}]++")
_DEEPEST: Final = 10_000
"""Go's decoder accepts no more levels, and Python's fewer. A text that exceeds it is not cut any further."""
_BEFORE: Final = token_hex(16)
_AFTER: Final = token_hex(16)
"""Fields that stand for those in earlier and in later pieces. No client can guess their names."""
_OPENED: Final = {"{": f'{{"{_BEFORE}":', "[": "["}
_CLOSED: Final = {"{": "}", "[": "]"}
_MORE: Final = {"{": f',"{_AFTER}":0', "[": ",0"}


def goes_on(pairs: list[tuple[str, Any]]) -> bool:
    """Whether the object with these fields began in an earlier piece. The first field is not one of the text."""
    return bool(pairs) and pairs[0][0] == _BEFORE


class Objects(Protocol):
    """Makes the objects of a text that `decode_in_pieces` decodes."""

    def decode(self, text: str, /) -> Any:
        """The value of a complete JSON text, in which an object that `goes_on` may remain a list of fields.

        Raises JSONDecodeError, or another ValueError.
        """
        ...

    def extend(self, obj: dict[str, Any], pairs: list[tuple[str, Any]], /) -> None:
        """Adds fields to an object that an earlier piece began."""
        ...

    def last(self, obj: dict[str, Any], /) -> Any:
        """The value of the field of ``obj`` that comes last in the text."""
        ...


def decode_in_pieces(text: str, objects: Objects) -> JSON:
    """The JSON value of ``text``.

    The text is cut at commas between tokens. Each piece is completed with the brackets that are open at its two ends
    and then decoded; its outermost objects and lists go on where those of the piece before it end. Inside a `Slicer`,
    the work may pause between pieces.

    Raises JSONDecodeError, with the place in ``text``, and what ``objects`` raises.
    """
    cutter, whole = _Cutter(text), _Whole(objects)
    end = -1
    while end < len(text):
        start, before = end + 1, list(cutter.open)
        end = cutter.cut()
        after = cutter.open if end < len(text) else []
        head = "".join(map(_OPENED.__getitem__, before)) + ("0," if before else "")
        tail = (_MORE[after[-1]] if after else "") + "".join(map(_CLOSED.__getitem__, reversed(after)))
        try:
            piece = objects.decode(f"{head}{text[start:end]}{tail}")
        except JSONDecodeError as error:
            raise JSONDecodeError(error.msg, text, error.pos - len(head) + start) from None
        whole.add(piece, before)
        whole.leave(after, cutter.kept)
    return whole.value


def decode_valid(body: bytes) -> Any:
    """The value of ``body``, which must be JSON that repeats no field. If ``body`` is long, work that is done in slices
    may pause.
    """
    if len(body) < LONG or not in_slices():
        return msgspec.json.decode(body)
    return decode_in_pieces(body.decode(), _Plain())


class _Plain:
    """The objects of valid JSON."""

    def decode(self, text: str) -> Any:
        spend(2 * len(text))
        return msgspec.json.decode(text)

    def extend(self, obj: dict[str, Any], pairs: list[tuple[str, Any]]) -> None:
        obj.update(pairs)

    def last(self, obj: dict[str, Any]) -> Any:
        return next(reversed(obj.values()))


class _Whole:
    """The value that pieces make."""

    def __init__(self, objects: Objects) -> None:
        self.value: Any = None
        self._objects = objects
        self._unfinished: list[Any] = []
        """The objects and lists that go on in the next piece, the outermost first."""

    def add(self, piece: Any, before: list[str]) -> None:
        """Adds the next piece's value, to which brackets of the pieces before it were added."""
        if not before:
            self.value = piece
        for bracket, whole in zip(before, self._unfinished, strict=True):
            if bracket == "{":
                (_, inner), *fields = piece.items() if type(piece) is dict else piece
                self._objects.extend(whole, fields)
            else:
                inner, *items = piece
                whole.extend(items)
            piece = inner

    def leave(self, open: list[str], kept: int) -> None:
        """Finds what goes on in the next piece: ``open`` are its brackets, of which ``kept`` are those of before."""
        unfinished = self._unfinished
        del unfinished[kept:]
        while len(unfinished) < len(open):
            outer: Any = unfinished[-1] if unfinished else [self.value]
            unfinished.append(outer[-1] if type(outer) is list else self._objects.last(outer))
        if open and open[-1] == "{":
            del unfinished[-1][_AFTER]
        elif open:
            unfinished[-1].pop()


class _Cutter:
    """Finds the places where a text is cut, and the brackets that are open there."""

    def __init__(self, text: str) -> None:
        self.open: list[str] = []
        self.kept = 0
        """The number of open brackets, counted from the outermost, that were open at the cut before, too."""
        self._text = text
        self._at = 0

    def cut(self) -> int:
        """The place of the comma at which the next piece ends; the text's length if that is the last piece."""
        text, start, in_string = self._text, self._at, False
        self.kept = len(self.open)
        while self._at < len(text) and len(self.open) < _DEEPEST:
            parts = self._part().split('"')
            outside = '"'.join(parts[in_string::2])
            comma = outside.rfind(",") if self._at == start else outside.find(",")
            if comma >= 0:
                self._note(outside[:comma])
                count = in_string + 2 * outside.count('"', 0, comma)
                passed = sum(map(len, parts[:count])) + count + comma - (outside.rfind('"', 0, comma) + 1)
                self._at += passed + 1
                return self._at - 1 if self.open else len(text)
            self._note(outside)
            in_string ^= len(parts) % 2 == 0
            self._at += sum(map(len, parts)) + len(parts) - 1
        return len(text)

    def _part(self) -> str:
        """The text from here on, as far as it is looked at together, with spaces for the escapes that matter."""
        text, end = self._text, self._at + _PIECE
        part = text[self._at : end]
        if (len(part) - len(part.rstrip("\\"))) % 2:  # it ends inside an escape
            part = text[self._at : end + 1]
        spend(_STEP + len(part))
        return part.replace("\\\\", "  ").replace('\\"', "  ") if "\\" in part else part

    def _note(self, outside: str) -> None:
        """Notes the brackets in what is outside strings."""
        brackets = outside.translate(_NO_BRACKETS)
        for _ in range(3):
            brackets = brackets.replace("{}", "").replace("[]", "")
        spend(len(brackets) << 3)
        for run in _RUN.findall(brackets):
            if run[0] in _OPENED:
                self.open.extend(run)
            else:
                del self.open[-len(run) :]
                self.kept = min(self.kept, len(self.open))
