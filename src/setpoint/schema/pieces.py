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
_PIECE: Final = 1 << 16
"""The length of a piece. A piece with a longer string or number is longer."""
_STRINGS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SOME: Final = re.compile(r'(?:[^"]{0,4096}+"(?:[^"\\]++|\\.){0,256}+"){1,64}+', re.DOTALL)
"""Some strings, none with many escapes, and the text before each."""
_PART: Final = re.compile(r'(?:[^"\\]++|\\.){1,4096}+', re.DOTALL)
"""A part of the inside of a string."""
_GAP: Final = re.compile(r'[^"]{1,4096}+')
_TO_COMMA: Final = re.compile(r'(?:[^",]{0,4096}+"(?:[^"\\]++|\\.){0,256}+"){0,64}+[^",]{0,4096}+,', re.DOTALL)
"""The text up to the next comma that is not in a string, if it is near."""
_NO_BRACKETS: Final = re.compile(r"[^][{}]++")
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
        self.text = text
        self.at = 0
        self.open: list[str] = []
        self.kept = 0
        """The number of open brackets, counted from the outermost, that were open at the cut before, too."""

    def cut(self) -> int:
        """The place of the comma at which the next piece ends; the text's length if that is the last piece."""
        start = self.at
        self.kept = len(self.open)
        while len(self.open) < _DEEPEST:
            if self.at - start >= _PIECE and (found := _TO_COMMA.match(self.text, self.at)):
                self._pass(found)
                return self.at - 1 if self.open else len(self.text)
            if found := _SOME.match(self.text, self.at) or _GAP.match(self.text, self.at):
                self._pass(found)
            elif not self._long_string():
                break
        return len(self.text)

    def _pass(self, found: re.Match[str]) -> None:
        """Goes to the end of a text that begins and ends outside strings, and notes its brackets."""
        spend(_STEP + found.end() - self.at)
        self.at = found.end()
        passed = found[0]
        if not any(bracket in passed for bracket in "{}[]"):
            return
        brackets = _NO_BRACKETS.sub("", _STRINGS.sub("", passed))
        for bracket in brackets.replace("{}", "").replace("[]", "").replace("{}", ""):
            if bracket in _OPENED:
                self.open.append(bracket)
            elif self.open:
                self.open.pop()
                self.kept = min(self.kept, len(self.open))

    def _long_string(self) -> bool:
        """Goes to the end of the string that begins here. Returns False if the text ends first."""
        self.at += 1
        while part := _PART.match(self.text, self.at):
            spend(len(part[0]))
            self.at = part.end()
        self.at += 1
        return self.at <= len(self.text)
