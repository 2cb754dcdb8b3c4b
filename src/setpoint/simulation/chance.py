"""Chance: what the operating system's random generator gives to programs in the simulated world."""

from __future__ import annotations

import base64
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final
from uuid import UUID

from setpoint.controller.context import current
from setpoint.simulation.actor import ACTOR
from setpoint.simulation.state import Snapshot, in_order

_SHORTEST: Final = 4
"""The fewest random bytes whose texts are told from other texts."""
_PART: Final = 5
"""The fewest characters of a random text that are recognized alone: programs put the beginning of one into a name."""
_RUN: Final = 8
"""The fewest characters, chosen one by one, that are recognized without a boundary around them."""
_WORD: Final = r"[0-9A-Za-z]{5,}"


class Chance:
    """The random bytes of one run. They depend on ``seed``, on the process that asks for them, and on what it was given
    before, so a run can be repeated, and a process that starts anew is given others.

    While `installed` lasts, `os.urandom` returns these bytes, and with it `secrets`, `uuid.uuid4` and
    `random.SystemRandom`, which no program can seed. The generator that all users of `random` share is left alone: a
    program can seed it, and is told if it does not.

    The texts that programs usually make of the bytes are remembered: hexadecimal digits, UUIDs, base64, and characters
    that were chosen one by one.
    """

    def __init__(self) -> None:
        self.seed = 0
        self._streams: dict[str, Random] = {}
        self._meant: dict[str, bool] = {}
        """The texts of the bytes, and whether a reconcile asked for them. Others name a process, and tell nothing of
        an object.
        """
        self._chosen: dict[str, str] = {}
        """By the name of the process, the characters that its reconciles have chosen."""
        self._ends: set[str] = set()
        """The first and the last characters of hexadecimal texts."""
        self._known: re.Pattern[str] | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Gives the bytes to everything that asks the operating system for randomness."""
        holders: tuple[tuple[Any, str], ...] = ((os, "urandom"), (random, "_urandom"))
        before = [getattr(module, name) for module, name in holders]
        for module, name in holders:
            setattr(module, name, self.draw)
        try:
            yield
        finally:
            for (module, name), function in zip(holders, before, strict=True):
                setattr(module, name, function)

    def draw(self, size: int, /) -> bytes:
        """``size`` random bytes for the running actor."""
        actor = ACTOR.get()
        name = "user" if actor is None else actor.name
        if name not in self._streams:
            self._streams[name] = Random(f"{self.seed} {name} chance")
        drawn = self._streams[name].randbytes(size)
        if size >= _SHORTEST:
            self._remember(drawn)
        elif current.get() is not None:
            self._chosen[name] = self._chosen.get(name, "") + _choice(drawn)
        return drawn

    def _remember(self, drawn: bytes) -> None:
        hexadecimal = [drawn.hex()]
        texts = [base64.b64encode(drawn).decode(), base64.urlsafe_b64encode(drawn).decode()]
        texts += [each.rstrip("=") for each in texts]
        if len(drawn) == 16:
            identity = UUID(bytes=drawn, version=4)
            hexadecimal.append(identity.hex)
            texts.append(str(identity))
        meant = current.get() is not None
        for text in (*hexadecimal, *texts):
            self._meant[text] = meant
        for text in hexadecimal:
            self._ends |= {text[:_PART], text[-_PART:]}
        self._known = None

    def _replaced(self, text: str, replace: Callable[[str], str]) -> str:
        """``text`` with each random text in it, and each beginning or end of one, replaced."""
        if len(text) < _PART or not (self._meant or self._chosen):
            return text
        if self._chosen:
            text = self._without_chosen(text, replace)
        if self._known is None:
            longest_first = sorted(self._meant, key=len, reverse=True)
            self._known = re.compile("|".join([*map(re.escape, longest_first), _WORD]))
        return self._known.sub(lambda match: match[0] if self._means(match[0]) is None else replace(match[0]), text)

    def _means(self, word: str) -> bool | None:
        """Whether a reconcile asked for the random text that ``word`` is, or is a part of; None if it is not one."""
        if word in self._meant:
            return self._meant[word]
        if word[:_PART] in self._ends or word[-_PART:] in self._ends:
            for text, meant in self._meant.items():
                if text.startswith(word) or text.endswith(word):
                    return meant
        return True if self._is_chosen(word) else None

    def _is_chosen(self, text: str) -> bool:
        return any(text in chosen for chosen in self._chosen.values())

    def _without_chosen(self, text: str, replace: Callable[[str], str]) -> str:
        """``text`` with runs of chosen characters replaced, however long they are and wherever they begin."""
        parts, start, place = [], 0, 0
        while place + _RUN <= len(text):
            end = place + _RUN
            if not self._is_chosen(text[place:end]):
                place += 1
                continue
            while end < len(text) and self._is_chosen(text[place : end + 1]):
                end += 1
            parts += [text[start:place], replace(text[place:end])]
            start = place = end
        return "".join(parts) + text[start:]

    def starred(self, text: str) -> str:
        """``text`` with ``*`` in the place of random texts, as names have it that the server generated."""
        return self._replaced(text, lambda _: "*")

    def by_use(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with random texts replaced by the places at which the same text occurs, too, so that two states
        are equal if random texts are used alike in both.
        """
        places: dict[str, dict[str, None]] = {}

        def find(text: str, place: str) -> str:
            def note(word: str) -> str:
                if self._means(word):
                    places.setdefault(word, {}).setdefault(place)
                return word

            return self._replaced(text, note)

        def tell(text: str, place: str) -> str:
            def told(word: str) -> str:
                elsewhere = sorted(each for each in places.get(word, ()) if each != place)
                return f"<the random text of {' and of '.join(elsewhere)}>" if elsewhere else "<a random text>"

            return self._replaced(text, told)

        if not (self._meant or self._chosen):
            return snapshot
        for subject, items in snapshot.items():
            for item in items:
                self._walk(item, self.starred(subject), "", find)
        return in_order(
            {
                subject: [self._walk(item, self.starred(subject), "", tell) for item in items]
                for subject, items in snapshot.items()
            }
        )

    def _walk(self, value: Any, subject: str, path: str, rename: Callable[[str, str], str]) -> Any:
        """The value with each key and text in it given to ``rename``, together with its place."""
        if isinstance(value, str):
            return rename(value, f"{subject} {path}".rstrip())
        if isinstance(value, list):
            return [self._walk(item, subject, f"{path}[]", rename) for item in value]
        if not isinstance(value, dict):
            return value
        found: dict[str, Any] = {}
        for key, item in value.items():
            below = f"{path}.{self.starred(key)}" if path else self.starred(key)
            name = rename(key, f"{subject} {path}".rstrip())
            while name in found:  # used alike
                name += " again"
            found[name] = self._walk(item, subject, below, rename)
        return found


def _choice(drawn: bytes) -> str:
    """The character that `random.SystemRandom.choice` takes because of the bytes that it is about to be given; ``""``
    if something else has asked for them, or the choice will be made again.
    """
    bits, below, choice = sys._getframe(2), None, None
    if bits.f_code.co_name == "getrandbits" and bits.f_back is not None:
        below = bits.f_back
        choice = below.f_back
    sequence = None if choice is None or choice.f_code.co_name != "choice" else choice.f_locals.get("seq")
    if bits.f_code.co_filename != random.__file__ or not isinstance(sequence, str):
        return ""
    place = int.from_bytes(drawn) >> (8 * len(drawn) - len(sequence).bit_length())
    return sequence[place] if place < len(sequence) else ""
