"""Compiled patterns: whether, where and how often a text matches."""

from __future__ import annotations

from typing import Final

from setpoint.regexp.automaton import EDGE, Automaton
from setpoint.regexp.errors import PatternError
from setpoint.regexp.program import program
from setpoint.regexp.syntax import Node, parse

_LONGEST: Final = 8192
"""The maximum length of a pattern, in characters. Go allows longer ones, but real patterns are shorter, and the time to
compile a pattern grows with its length.
"""


class Pattern:
    """A compiled regular expression; ``text`` is its source.

    Time and memory stay in proportion to the text, for any pattern. Matching raises PatternError if a text is too long
    for a pattern that needs a new state at nearly each character.
    """

    __slots__ = ("_backwards", "_forwards", "_tree", "text")

    def __init__(self, text: str, tree: Node) -> None:
        self.text = text
        self._tree = tree
        self._forwards = Automaton(program(tree))
        self._backwards: Automaton | None = None

    def matches(self, text: str) -> bool:
        automaton = self._forwards
        automaton.steps = 0
        state = automaton.start(EDGE, search=True)
        try:
            for number in map(automaton.classes.__getitem__, _valid(text)):
                state = state[number]
                if state.ended:
                    return state.matched
            return state[EDGE].matched
        except PatternError:
            raise self._too_long(text) from None

    def find(self, text: str) -> str:
        """The first match, or ``""`` if there is none."""
        matches = self.find_all(text, 1)
        return matches[0] if matches else ""

    def find_all(self, text: str, most: int = -1) -> list[str]:
        """The non-overlapping matches, at most ``most`` of them (all of them if ``most`` is negative).

        As in Go, an empty match right after another match does not count.
        """
        text = _valid(text)
        matches: list[str] = []
        position, before = 0, -1
        if self._backwards is None:
            self._backwards = Automaton(program(self._tree, backwards=True), longest=True)
        self._forwards.steps = self._backwards.steps = 0
        try:
            while position <= len(text) and len(matches) != most:
                span = self._span(text, position, self._backwards)
                if span is None:
                    break
                start, end = span
                if start < end or start != before:
                    matches.append(text[start:end])
                before = end
                position = end if end > position else position + 1
        except PatternError:
            raise self._too_long(text) from None
        return matches

    def _span(self, text: str, position: int, backwards: Automaton) -> tuple[int, int] | None:
        """The start and the end of the first match that begins at ``position`` or later."""
        automaton = self._forwards
        classes = automaton.classes
        end = -1
        state = automaton.start(classes[text[position - 1]] if position else EDGE, search=True)
        place = position
        while state.threads:
            at_end = place == len(text)
            state = state[EDGE if at_end else classes[text[place]]]
            if state.matched:
                end = place
            if at_end:
                break
            place += 1
        automaton.spend(place - position)
        if end < 0:
            return None
        classes = backwards.classes
        start = place = end
        state = backwards.start(EDGE if end == len(text) else classes[text[end]], search=False)
        while state.threads:
            state = state[classes[text[place - 1]] if place else EDGE]
            if state.matched:
                start = place
            if place == position:
                break
            place -= 1
        backwards.spend(end - place)
        return start, end

    def _too_long(self, text: str) -> PatternError:
        return PatternError(f"a string of {len(text)} characters is too long to be matched with {self.text[:100]!r}")

    def __repr__(self) -> str:
        return f"<Pattern {self.text!r}>"


def compiled(pattern: str) -> Pattern:
    """The compiled ``pattern``. Raises PatternError if it is invalid."""
    if len(pattern) > _LONGEST:
        raise PatternError(f"error parsing regexp: expression too large: `{pattern[:30]}...`")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        text = pattern.encode("utf-8", "replace").decode()
        raise PatternError(f"error parsing regexp: invalid UTF-8: `{text}`") from None
    return Pattern(pattern, parse(pattern))


def _valid(text: str) -> str:
    """``text``, with U+FFFD for each lone surrogate, as Go reads it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
