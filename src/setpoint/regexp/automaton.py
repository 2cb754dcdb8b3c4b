"""A deterministic automaton that is made while it runs (Thompson 1968; Cox, "Regular Expression Matching: the Virtual
Machine Approach"): each state is the ordered list of the instructions that may come next.

Threads that come first are preferred, as in Perl; with the first that matches all after it end. So a text is read
once, whatever the pattern is.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from setpoint.regexp.errors import PatternError
from setpoint.regexp.program import MATCH, Assertion, Program, Read, Split
from setpoint.regexp.syntax import Kind

EDGE: Final = 0
"""The class of what is before the first and after the last character."""
_NEWLINE, _WORD, _OTHER = 1, 2, 3
_MAX_SIZE: Final = 100_000
"""The maximum number of threads in all states that are kept, and of steps from one to another; ten megabytes."""
_MAX_CHARACTERS: Final = 30_000
"""The maximum number of characters whose class is kept: enough for a long text in Chinese; five megabytes."""
_MAX_STEPS: Final = 2_500_000
"""The maximum number of instructions that are run for one text; about half a second."""
_Class = tuple[int, frozenset[int]]
"""The kind of a character, and the numbers of the sets that it is in."""
_EDGE_CLASS: Final[_Class] = (EDGE, frozenset())
_LINES: Final[frozenset[Kind]] = frozenset({"begin line", "end line"})
_WORDS: Final[frozenset[Kind]] = frozenset({"word boundary", "no word boundary"})
_BEHIND: Final = _LINES | _WORDS | frozenset[Kind]({"begin text"})


class State(dict[int, "State"]):
    """The states that follow, by the class of the next character.

    ``matched`` says that a match ended before the last character, ``behind`` what kind of character that was.
    """

    __slots__ = ("automaton", "behind", "ended", "matched", "threads")

    def __init__(self, automaton: Automaton, threads: tuple[int, ...], behind: int, matched: bool) -> None:
        self.automaton = automaton
        self.threads = threads
        self.behind = behind
        self.matched = matched
        self.ended = matched or not threads
        """Whether it is known that there is a match, or that there is none."""

    def __missing__(self, number: int) -> State:
        state = self[number] = self.automaton.following(self, number)
        return state


class _Classes(dict[str, int]):
    """The class of each character: characters of one class are the same to the program."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton

    def __missing__(self, char: str) -> int:
        if len(self) >= _MAX_CHARACTERS:
            self.clear()
        number = self[char] = self._automaton.classify(char)
        return number


class Automaton:
    """Runs ``program``. With ``longest`` it goes on after a match until no longer one is possible.

    Patterns are shared between threads (plain reconcile functions run in some), so a lock is held while a state or a
    class is made.
    """

    def __init__(self, program: Program, *, longest: bool = False) -> None:
        self._program = program
        self._longest = longest
        self._states: dict[tuple[tuple[int, ...], int, bool], State] = {}
        self._numbers: dict[_Class, int] = {_EDGE_CLASS: EDGE}
        self._members: list[_Class] = [_EDGE_CLASS]
        self.classes = _Classes(self)
        self._lock = Lock()
        self._size = 0
        self.steps = 0

    def start(self, before: int, *, search: bool) -> State:
        """The first state, after a character of class ``before``."""
        key = (self._program.search if search else self._program.start,), self._behind(self._members[before][0]), False
        state = self._states.get(key)
        if state is None:
            with self._lock:
                state = self._state(*key)
        return state

    def classify(self, char: str) -> int:
        kind = _NEWLINE if char == "\n" else _WORD if char.isascii() and (char.isalnum() or char == "_") else _OTHER
        sets = self._program.sets
        self.spend(len(sets))
        key = (kind, frozenset(number for number, characters in enumerate(sets) if characters.has(char)))
        with self._lock:
            number = self._numbers.setdefault(key, len(self._members))
            if number == len(self._members):
                self._members.append(key)
        return number

    def following(self, state: State, number: int) -> State:
        """The state after ``state`` and a character of class ``number``."""
        ahead, member = self._members[number]
        instructions = self._program.instructions
        stack = [*reversed(state.threads)]
        passed: set[int] = set()
        threads: dict[int, None] = {}
        matched = False
        while stack:
            place = stack.pop()
            if place in passed:
                continue
            passed.add(place)
            if place == MATCH:
                matched = True
                if not self._longest:
                    break
                continue
            instruction = instructions[place]
            if isinstance(instruction, Read):
                if instruction.characters in member:
                    threads[instruction.following] = None
            elif isinstance(instruction, Split):
                stack += (instruction.second, instruction.first)
            elif isinstance(instruction, Assertion) and _holds(instruction.kind, state.behind, ahead):
                stack.append(instruction.following)
        self.spend(len(passed))
        ordered = tuple(sorted(threads) if self._longest else threads)
        with self._lock:
            self._size += 1
            return self._state(ordered, self._behind(ahead), matched)

    def spend(self, steps: int) -> None:
        """Counts work for one text. Raises PatternError if it is too much."""
        self.steps += steps
        if self.steps > _MAX_STEPS:
            raise PatternError("the text is too long")

    def _behind(self, kind: int) -> int:
        """A character's kind, as far as it matters to the assertions: the fewer kinds there are, the fewer states."""
        assertions = self._program.assertions
        if not assertions & _BEHIND:
            return _OTHER
        if (kind == _NEWLINE and not assertions & _LINES) or (kind == _WORD and not assertions & _WORDS):
            return _OTHER
        return kind

    def _state(self, threads: tuple[int, ...], behind: int, matched: bool) -> State:
        key = (threads, behind, matched)
        state = self._states.get(key)
        if state is None:
            self._size += len(threads) + 1
            state = State(self, threads, behind, matched)
        if self._size > _MAX_SIZE:
            for other in self._states.values():
                other.clear()
            self._states.clear()
            self._size = len(threads) + 1
        self._states[key] = state
        return state


def _holds(kind: Kind, behind: int, ahead: int) -> bool:
    match kind:
        case "begin text":
            return behind == EDGE
        case "end text":
            return ahead == EDGE
        case "begin line":
            return behind in (EDGE, _NEWLINE)
        case "end line":
            return ahead in (EDGE, _NEWLINE)
        case "word boundary":
            return (behind == _WORD) != (ahead == _WORD)
        case _:
            return (behind == _WORD) == (ahead == _WORD)
