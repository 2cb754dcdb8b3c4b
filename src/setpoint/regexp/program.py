"""The instructions of a pattern, for reading a text forwards or backwards."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, NamedTuple

from setpoint.regexp.characters import ANY, Characters
from setpoint.regexp.syntax import Kind, Node

MATCH: Final = 0
"""The number of the instruction with which every match ends."""


class Read(NamedTuple):
    """Reads one of the characters whose set has this number in `Program.sets`, and goes on."""

    characters: int
    following: int


class Split(NamedTuple):
    """Goes on at either; the first is preferred."""

    first: int
    second: int


class Assertion(NamedTuple):
    kind: Kind
    following: int


Instruction = Read | Split | Assertion | None


class Program(NamedTuple):
    """``start`` is the first instruction of a match; ``search`` that of a match that begins here or later, at the
    earliest place.
    """

    instructions: list[Instruction]
    sets: list[Characters]
    start: int
    search: int
    assertions: frozenset[Kind]


def program(tree: Node, *, backwards: bool = False) -> Program:
    """The program of a pattern. One that is to be read backwards has the ends of texts and lines exchanged, too."""
    return _Compiler(backwards).program(tree)


_BACKWARDS: Final[dict[Kind, Kind]] = {
    "begin text": "end text", "end text": "begin text", "begin line": "end line", "end line": "begin line"
}  # fmt: skip
_Part = Generator[tuple[Node, int], int, int]


class _Compiler:
    def __init__(self, backwards: bool) -> None:
        self._backwards = backwards
        self._instructions: list[Instruction] = [None]
        self._sets: list[Characters] = []
        self._numbers: dict[Characters, int] = {}
        self._assertions: set[Kind] = set()

    def program(self, tree: Node) -> Program:
        start = self._run(tree)
        search = self._add(Split(start, 0))
        skip = self._add(Read(self._set(ANY), search))
        self._instructions[search] = Split(start, skip)
        return Program(self._instructions, self._sets, start, search, frozenset(self._assertions))

    def _add(self, instruction: Instruction) -> int:
        self._instructions.append(instruction)
        return len(self._instructions) - 1

    def _set(self, characters: Characters) -> int:
        number = self._numbers.setdefault(characters, len(self._sets))
        if number == len(self._sets):
            self._sets.append(characters)
        return number

    def _run(self, tree: Node) -> int:
        """Compiles without recursion, because a tree may be a thousand nodes high."""
        stack: list[_Part] = [self._part(tree, MATCH)]
        entry: int | None = None
        while stack:
            try:
                node, following = next(stack[-1]) if entry is None else stack[-1].send(entry)
            except StopIteration as end:
                entry = end.value
                stack.pop()
            else:
                entry = None
                stack.append(self._part(node, following))
        assert entry is not None
        return entry

    def _part(self, node: Node, following: int) -> _Part:
        """Adds the instructions of ``node``, after which ``following`` is run, and returns the first of them. Yields
        the parts of the node and their following instructions, and gets their first ones.
        """
        match node.kind:
            case "empty":
                return following
            case "characters":
                assert node.characters is not None
                return self._add(Read(self._set(node.characters), following))
            case "concat":
                for part in node.parts if self._backwards else reversed(node.parts):
                    following = yield part, following
                return following
            case "alternate":
                entry = -1
                for part in reversed(node.parts):
                    first = yield part, following
                    entry = first if entry < 0 else self._add(Split(first, entry))
                return entry
            case "repeat":
                return (yield from self._repeat(node, following))
            case kind:
                kind = _BACKWARDS.get(kind, kind) if self._backwards else kind
                self._assertions.add(kind)
                return self._add(Assertion(kind, following))

    def _repeat(self, node: Node, following: int) -> _Part:
        part, required = node.parts[0], node.least
        entry = following
        if node.most < 0:
            # A loop ends with a decision, so that a part that matches the empty text ends it.
            loop = self._add(None)
            first = yield part, loop
            self._instructions[loop] = self._split(node, first, following)
            if required:
                entry, required = first, required - 1
            else:
                entry = self._add(self._split(node, first, following)) if part.nullable else loop
        for _ in range(node.most - node.least):
            first = yield part, entry
            entry = self._add(self._split(node, first, following))
        for _ in range(required):
            entry = yield part, entry
        return entry

    def _split(self, node: Node, again: int, following: int) -> Split:
        return Split(again, following) if node.greedy else Split(following, again)
