"""The syntax of Go's ``regexp/syntax`` with its flags for Perl: text to a tree, with Go's messages for errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, NoReturn

from setpoint.regexp.characters import (
    ANY,
    NOT_NEWLINE,
    PERL,
    POSIX,
    Characters,
    folded,
    ranges,
    unicode_class,
    union,
)
from setpoint.regexp.errors import PatternError

MAX_SIZE: Final = 10_000
"""The maximum number of instructions of a pattern, which Go limits to 3.3 million."""
_MAX_HEIGHT: Final = 1000
_MAX_REPEAT: Final = 1000
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_HEX: Final = "0123456789abcdefABCDEF"
_OCTAL: Final = "01234567"


Kind = Literal[
    "empty", "characters", "concat", "alternate", "repeat",
    "begin text", "end text", "begin line", "end line", "word boundary", "no word boundary",
]  # fmt: skip


class Node(NamedTuple):
    """A part of a pattern. ``most`` is -1 if a repetition is unbounded."""

    kind: Kind
    parts: tuple[Node, ...] = ()
    characters: Characters | None = None
    least: int = 0
    most: int = 0
    greedy: bool = True
    nullable: bool = True
    """Whether it matches the empty text somewhere."""
    size: int = 1
    """About the number of its instructions."""
    height: int = 1
    repeats: int = 1
    """The greatest product of nested repeat counts."""


_EMPTY: Final = Node("empty")


class _Flags(NamedTuple):
    fold: bool = False
    lines: bool = False
    dot_newline: bool = False
    lazy: bool = False


class _Group:
    """An open parenthesis, with the flags that come back when it is closed."""

    def __init__(self, flags: _Flags, *, captures: bool) -> None:
        self.flags = flags
        self.captures = captures
        self.alternatives: list[Node] = []
        self.sequence: list[Node] = []

    def node(self) -> Node:
        return _alternate([*self.alternatives, _concat(self.sequence)])


def parse(pattern: str) -> Node:
    """The tree of ``pattern``. Raises PatternError."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.flags = _Flags()
        self.groups = [_Group(_Flags(), captures=False)]

    def parse(self) -> Node:
        pattern, end = self.pattern, len(self.pattern)
        last_repeat = -1
        while self.position < end:
            start = self.position
            char = pattern[start]
            repeat = _REPEAT.match(pattern, start) if char == "{" else None
            if char in "*+?" or repeat is not None:
                self._repeat(repeat, last_repeat)
                last_repeat = start
                continue
            last_repeat = -1
            self.position += 1
            match char:
                case "(":
                    self._open()
                case "|":
                    group = self.groups[-1]
                    group.alternatives.append(_concat(group.sequence))
                    group.sequence = []
                case ")":
                    self._close()
                case "^":
                    self._push(Node("begin line" if self.flags.lines else "begin text"))
                case "$":
                    self._push(Node("end line" if self.flags.lines else "end text"))
                case ".":
                    self._push(_characters(ANY if self.flags.dot_newline else NOT_NEWLINE))
                case "[":
                    self._push(_characters(self._class(start)))
                case "\\":
                    self._escape(start)
                case _:
                    self._literal(ord(char))
        if len(self.groups) > 1:
            _refuse("missing closing )", pattern)
        return self._limited(self.groups[0].node())

    def _push(self, node: Node) -> None:
        self.groups[-1].sequence.append(node)

    def _literal(self, code: int) -> None:
        self._push(_characters(self._folded(ranges((code, code)))))

    def _folded(self, characters: Characters) -> Characters:
        return folded(characters) if self.flags.fold else characters

    def _limited(self, node: Node) -> Node:
        if node.size > MAX_SIZE:
            _refuse("expression too large", self.pattern)
        if node.height > _MAX_HEIGHT:
            _refuse("expression nests too deeply", self.pattern)
        return node

    def _repeat(self, match: re.Match[str] | None, last_repeat: int) -> None:
        start, pattern = self.position, self.pattern
        self.position = start + 1 if match is None else match.end()
        least, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}.get(pattern[start], (0, 0))
        if match is not None:
            least = int(match[1])
            most = least if match[2] is None else -1 if match[3] is None else int(match[3])
            if least > _MAX_REPEAT or most > _MAX_REPEAT or 0 <= most < least:
                _refuse("invalid repeat count", match[0])
        lazy = pattern.startswith("?", self.position)
        self.position += lazy
        text = pattern[start : self.position]
        if last_repeat >= 0:
            _refuse("invalid nested repetition operator", pattern[last_repeat : self.position])
        sequence = self.groups[-1].sequence
        if not sequence:
            _refuse("missing argument to repetition operator", text)
        node = _repeated(sequence.pop(), least, most, greedy=lazy == self.flags.lazy, counted=match is not None)
        if (least >= 2 or most >= 2) and node.repeats > _MAX_REPEAT:
            _refuse("invalid repeat count", text)
        sequence.append(self._limited(node))

    def _open(self) -> None:
        start, pattern = self.position - 1, self.pattern
        if not pattern.startswith("?", self.position):
            self.groups.append(_Group(self.flags, captures=True))
            return
        named = next((mark for mark in ("(?P<", "(?<") if pattern.startswith(mark, start)), None)
        if named is not None and len(pattern) > start + len(named):
            end = pattern.find(">", start)
            if end < 0:
                _refuse("invalid named capture", pattern[start:])
            if _NAME.fullmatch(pattern, start + len(named), end) is None:
                _refuse("invalid named capture", pattern[start : end + 1])
            self.groups.append(_Group(self.flags, captures=True))
            self.position = end + 1
            return
        self.position += 1
        self._set_flags(start)

    def _set_flags(self, start: int) -> None:
        flags, wanted, has_flag = self.flags, True, False
        for char in self._chars():
            match char:
                case "i":
                    flags = flags._replace(fold=wanted)
                case "m":
                    flags = flags._replace(lines=wanted)
                case "s":
                    flags = flags._replace(dot_newline=wanted)
                case "U":
                    flags = flags._replace(lazy=wanted)
                case "-" if wanted:
                    wanted, has_flag = False, False
                    continue
                case ":" | ")" if wanted or has_flag:
                    if char == ":":
                        self.groups.append(_Group(self.flags, captures=False))
                    self.flags = flags
                    return
                case _:
                    break
            has_flag = True
        _refuse("invalid or unsupported Perl syntax", self.pattern[start : self.position])

    def _chars(self) -> Iterator[str]:
        while self.position < len(self.pattern):
            self.position += 1
            yield self.pattern[self.position - 1]

    def _close(self) -> None:
        if len(self.groups) == 1:
            _refuse("unexpected )", self.pattern)
        group = self.groups.pop()
        self.flags = group.flags
        node = group.node()
        if group.captures:  # counts for the nesting only
            node = _joined("concat", [node], nullable=node.nullable)
        self._push(self._limited(node))

    def _escape(self, start: int) -> None:
        char = self.pattern[self.position : self.position + 1]
        anchors: dict[str, Kind] = {
            "A": "begin text", "z": "end text", "b": "word boundary", "B": "no word boundary"
        }  # fmt: skip
        if char in anchors:
            self.position += 1
            self._push(Node(anchors[char]))
        elif char == "C":
            _refuse("invalid escape sequence", "\\C")
        elif char == "Q":
            text, mark, _ = self.pattern[self.position + 1 :].partition("\\E")
            self.position += 1 + len(text) + len(mark)
            for literal in text:
                self._literal(ord(literal))
        else:
            self.position = start
            named = self._named_class()
            if named is not None:
                self._push(_characters(named))
            else:
                self._literal(self._code(start))

    def _class(self, start: int) -> Characters:
        pattern = self.pattern
        negated = pattern.startswith("^", self.position)
        self.position += negated
        members: list[Characters] = []
        first = True
        while first or not pattern.startswith("]", self.position):
            first = False
            named = self._posix_class() or self._named_class()
            if named is not None:
                members.append(named)
                continue
            begin = self.position
            low = high = self._code(start)
            following = pattern[self.position : self.position + 2]
            if len(following) == 2 and following[0] == "-" and following[1] != "]":
                self.position += 1
                high = self._code(start)
                if high < low:
                    _refuse("invalid character class range", pattern[begin : self.position])
            members.append(self._folded(ranges((low, high))))
        self.position += 1
        return union(members).inverted(negated)

    def _posix_class(self) -> Characters | None:
        """The class of the ``[:alpha:]`` or ``[:^alpha:]`` here, if there is one."""
        start = self.position
        end = self.pattern.find(":]", start + 2) if self.pattern.startswith("[:", start) else -1
        if end < 0:
            return None
        name = self.pattern[start + 2 : end]
        characters = POSIX.get(name.removeprefix("^"))
        if characters is None:
            _refuse("invalid character class range", self.pattern[start : end + 2])
        self.position = end + 2
        return self._folded(characters).inverted(name.startswith("^"))

    def _named_class(self) -> Characters | None:
        r"""The class of the ``\d`` or ``\p{Greek}`` here, if there is one."""
        start, pattern = self.position, self.pattern
        sign = pattern[start + 1 : start + 2] if pattern.startswith("\\", start) else ""
        if sign and sign in "dswDSW":
            self.position += 2
            return self._folded(PERL[sign.lower()]).inverted(sign.isupper())
        if sign not in ("p", "P"):
            return None
        end = start + 3
        name = pattern[start + 2 : end]
        if name == "{":
            end = pattern.find("}", start) + 1
            if end == 0:
                _refuse("invalid character class range", pattern[start:])
            name = pattern[start + 3 : end - 1]
        characters = unicode_class(name.removeprefix("^"))
        if characters is None:
            _refuse("invalid character class range", pattern[start:end])
        self.position = end
        return self._folded(characters).inverted((sign == "P") != name.startswith("^"))

    def _code(self, class_start: int) -> int:
        """The code point of the character or the escape sequence here."""
        start, pattern = self.position, self.pattern
        if start >= len(pattern):
            _refuse("missing closing ]", pattern[class_start:])
        self.position += 1
        if pattern[start] != "\\":
            return ord(pattern[start])
        char = pattern[self.position : self.position + 1]
        if not char:
            _refuse("trailing backslash at end of expression", "")
        self.position += 1
        if char.isascii() and not char.isalnum():
            return ord(char)
        if char in _ESCAPES:
            return _ESCAPES[char]
        following = pattern[self.position : self.position + 1]
        if char == "0" or (char in _OCTAL and following and following in _OCTAL):
            digits = char
            while len(digits) < 3 and (digit := pattern[self.position : self.position + 1]) and digit in _OCTAL:
                digits += digit
                self.position += 1
            return int(digits, 8)
        if char == "x":
            code = self._hexadecimal()
            if code is not None:
                return code
        return _refuse("invalid escape sequence", pattern[start : self.position])

    def _hexadecimal(self) -> int | None:
        r"""The code point of ``\x41`` or ``\x{41}``, or None, with the position after the first wrong character."""
        chars = self._chars()
        first = next(chars, "")
        if first != "{":
            second = next(chars, "") if first else ""
            is_valid = first and second and first in _HEX and second in _HEX
            return int(first + second, 16) if is_valid else None
        digits = ""
        for char in chars:
            if char == "}":
                return int(digits, 16) if digits else None
            digits += char
            if char not in _HEX or int(digits, 16) > 0x10FFFF:
                return None
        return None


def _characters(characters: Characters) -> Node:
    return Node("characters", characters=characters, nullable=False)


def _concat(parts: list[Node]) -> Node:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _EMPTY
    return _joined("concat", parts, nullable=all(part.nullable for part in parts))


def _alternate(parts: list[Node]) -> Node:
    if len(parts) == 1:
        return parts[0]
    return _joined("alternate", parts, nullable=any(part.nullable for part in parts))


def _joined(kind: Kind, parts: list[Node], *, nullable: bool) -> Node:
    size = sum(part.size for part in parts) + len(parts) - 1
    height = 1 + max(part.height for part in parts)
    repeats = max(part.repeats for part in parts)
    return Node(kind, tuple(parts), nullable=nullable, size=size, height=height, repeats=repeats)


def _repeated(part: Node, least: int, most: int, *, greedy: bool, counted: bool) -> Node:
    count = max(least if most < 0 else most, 1)
    return Node(
        "repeat",
        (part,),
        None,
        least,
        most,
        greedy,
        nullable=least == 0 or part.nullable,
        size=part.size * count + max(most - least, 2),
        height=1 + part.height,
        repeats=1 if most == 0 else part.repeats * count if counted else part.repeats,
    )


def _refuse(reason: str, excerpt: str) -> NoReturn:
    raise PatternError(f"error parsing regexp: {reason}: `{excerpt}`")
