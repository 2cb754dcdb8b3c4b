"""Random values: what the operating system's random generator gives to programs in the simulated world."""

from __future__ import annotations

import base64
import math
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any, Final
from uuid import UUID

from setpoint.controller.context import current
from setpoint.simulation.comparison.snapshot import Snapshot, sort_snapshot
from setpoint.simulation.sandbox.actor import ACTOR

_PART: Final = 5
"""The fewest characters of a random text that are recognized at its beginning or end."""
_RUN: Final = 8
"""The fewest characters of a random text that are recognized wherever they are."""
_WORD: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){1,3}(?:-[0-9a-f]{12})?|[0-9A-Za-z]{4,}")
"""The beginning of a UUID, or a word that may be random."""


class RandomValues:
    """The random bytes of one run. They depend on ``seed``, on the process that asks for them, and on what it was given
    before, so a run can be repeated, and a process that starts anew is given others.

    While `installed` lasts, `os.urandom` returns these bytes, and with it `secrets`, `uuid.uuid4` and
    `random.SystemRandom`, which no program can seed. The generator that all users of `random` share is left alone: a
    program can seed it, and is told if it does not.

    The texts that programs usually make of the bytes are remembered: hexadecimal digits, UUIDs, base32, base64, and
    characters that were chosen one by one.
    """

    def __init__(self) -> None:
        self.seed = 0
        self.timed: Callable[[str], str] = str
        """Replaces the names in a text that programs make of the time."""
        self._streams: dict[str, Random] = {}
        self._intended: dict[str, bool] = {}
        """The texts of the bytes, those of letters and digits in small letters, and whether a reconcile asked for them.
        Others name a process, and tell nothing of an object.
        """
        self._ends: dict[str, list[str]] = {}
        """By their first and their last characters, these texts."""
        self._marked: dict[str, list[str]] = {}
        """The texts in base64 that have other characters than letters and digits, by a word in them."""
        self._all = ""
        """All texts of letters and digits, one after the other."""
        self._chosen = ""
        """The characters that reconciles have chosen."""
        self._runs: set[str] = set()
        """All runs of these characters that are recognized without a boundary around them."""

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
        meant = current.get() is not None
        whole, item = _split_drawn(drawn)
        if whole:
            self._remember(drawn, meant=meant)
        elif meant and item:
            before = self._chosen[1 - _RUN :]
            self._chosen += item
            recent = before + item
            self._runs.update(recent[place : place + _RUN] for place in range(len(recent) - _RUN + 1))
        return drawn

    def _remember(self, drawn: bytes, *, meant: bool) -> None:
        texts = [drawn.hex(), base64.b32encode(drawn).decode().rstrip("=")]
        encoded = [base64.b64encode(drawn).decode(), base64.urlsafe_b64encode(drawn).decode()]
        if len(drawn) == 16:
            identity = UUID(bytes=drawn, version=4)
            texts += [identity.hex, str(identity), *str(identity).split("-")]
            encoded += [
                base64.b64encode(identity.bytes).decode(),
                base64.urlsafe_b64encode(identity.bytes).decode(),
            ]
        for text in dict.fromkeys(variant for long in encoded for variant in (long, long.rstrip("="))):
            if text.isalnum():
                texts.append(text)
            else:
                self._intended[text] = meant
                self._marked.setdefault(max(re.split("[^0-9A-Za-z]", text), key=len), []).append(text)
        for text in map(str.lower, texts):
            self._intended[text] = meant
            if len(text) >= _PART:
                for end in {text[:_PART], text[-_PART:]}:
                    self._ends.setdefault(end, []).append(text)
                self._all += f" {text}"

    def _replaced(self, text: str, replace: Callable[[str], str]) -> str:
        """``text`` with each random text in it, and each recognized part of one, replaced."""
        if not (self._intended or self._chosen):
            return text
        if self._chosen:
            text = self._without_chosen(text, replace)
        if self._marked:
            for word in _WORD.findall(text):
                for long in self._marked.get(word, ()):
                    text = text.replace(long, replace(long)) if long in text else text
        return _WORD.sub(lambda match: self._without_random(match[0], replace), text)

    def _without_random(self, word: str, replace: Callable[[str], str]) -> str:
        """A word with the random text in it, if there is one, replaced."""
        if self._means(word) is not None:
            return replace(word)
        small = word.lower()
        for text in self._ends.get(small[-_PART:], ()):
            if small.endswith(text):
                return word[: -len(text)] + replace(word[-len(text) :])
        for text in self._ends.get(small[:_PART], ()):
            if small.startswith(text):
                return replace(word[: len(text)]) + word[len(text) :]
        return word

    def _means(self, word: str) -> bool | None:
        """Whether a reconcile asked for the random text that ``word`` is, or is a part of; None if it is not one."""
        small = word if word in self._intended else word.lower()
        if small in self._intended:
            return self._intended[small]
        for end in (small[:_PART], small[-_PART:]):
            for text in self._ends.get(end, ()):
                if text.startswith(small) or text.endswith(small):
                    return self._intended[text]
        if len(small) >= _RUN and (small in self._all or word[:_RUN] in self._runs):
            return True
        return True if len(word) >= _PART and word in self._chosen else None

    def _without_chosen(self, text: str, replace: Callable[[str], str]) -> str:
        """``text`` with runs of chosen characters replaced, however long they are and wherever they begin."""
        parts, start, place = [], 0, 0
        while place + _RUN <= len(text):
            end = place + _RUN
            if text[place:end] not in self._runs:
                place += 1
                continue
            while end < len(text) and text[end + 1 - _RUN : end + 1] in self._runs:
                end += 1
            parts += [text[start:place], replace(text[place:end])]
            start = place = end
        return "".join(parts) + text[start:] if parts else text

    def starred(self, text: str) -> str:
        """``text`` with ``*`` in the place of random texts, as names have it that the server generated, and of the
        parts that vary in names that programs make of the time.
        """
        return self.timed(self._replaced(text, lambda _: "*"))

    def by_use(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with random texts replaced by the places at which the same text occurs, too, so that two states
        are equal if random texts are used alike in both.
        """
        places: dict[str, dict[str, None]] = {}

        def note_uses(text: str, place: str) -> str:
            def note(word: str) -> str:
                if self._means(word):
                    places.setdefault(word, {}).setdefault(place)
                return word

            return self._replaced(text, note)

        def describe_uses(text: str, place: str) -> str:
            def describe(word: str) -> str:
                elsewhere = sorted(other for other in places.get(word, ()) if other != place)
                return (
                    f"<the random text that is also in {' and in '.join(elsewhere)}>"
                    if elsewhere
                    else "<a random text>"
                )

            return self._replaced(text, describe)

        if not (self._intended or self._chosen):
            return snapshot
        for subject, items in snapshot.items():
            for item in items:
                self._walk(item, self.starred(subject), "", note_uses)
        return sort_snapshot(
            {
                subject: [self._walk(item, self.starred(subject), "", describe_uses) for item in items]
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
        renamed: dict[str, Any] = {}
        for key, item in value.items():
            below = f"{path}.{self.starred(key)}" if path else self.starred(key)
            name = rename(key, f"{subject} {path}".rstrip())
            while name in renamed:  # used alike
                name += " again"
            renamed[name] = self._walk(item, subject, below, rename)
        return renamed


def _split_drawn(drawn: bytes) -> tuple[bool, str]:
    """Whether a program gets the bytes as a whole, and otherwise the text that `random.SystemRandom` chooses because of
    the bytes that it is about to be given; ``""`` if it does not choose a text, or will choose again.
    """
    asker = sys._getframe(2)
    if asker.f_code.co_filename != random.__file__ or asker.f_code.co_name == "randbytes":
        return len(drawn) > 1, ""
    choice: FrameType | None = asker
    while choice is not None and choice.f_code.co_filename == random.__file__:
        if choice.f_code.co_name in ("choice", "choices"):
            break
        choice = choice.f_back
    else:
        return len(drawn) > 3, ""
    sequence = choice.f_locals.get("seq", choice.f_locals.get("population"))
    if not isinstance(sequence, Sequence):
        return False, ""
    number = int.from_bytes(drawn)
    if choice.f_code.co_name == "choices":
        place = math.floor((number >> 3) * 2.0**-53 * len(sequence))
    else:
        place = number >> (8 * len(drawn) - len(sequence).bit_length())
    item = sequence[place] if place < len(sequence) else ""
    return False, item if isinstance(item, str) else ""
