"""Training: decides when the documents of a store need a new dictionary, and whether the new one is better."""

from __future__ import annotations

from collections.abc import Sequence

from setpoint.cache.compression import (
    DICTIONARY_BYTES,
    LARGE_DICTIONARY_BYTES,
    UNTRAINED,
    Compressor,
    trained_on,
)

_TRAIN_AT = (128, 2048, 32768)
_WINDOW = 1024
_DRIFT = 1.3
_WORTH = 0.85

SAMPLES = 160
"""The number of documents on which a dictionary is trained and evaluated."""
SAMPLE_BYTES = 64 * 1024
"""The maximum size of a document that is used for training, in bytes."""


class Training:
    """Tracks how well documents compress.

    A new dictionary is due when a store reaches 128, 2048 and 32768 objects. It is also due after a window of 1024
    documents that compress worse: their compressed size, as a fraction of the original size, is more than 30 % larger
    than for the documents on which the newest dictionary was evaluated.
    """

    __slots__ = ("_at", "_compressor", "_next", "_puts", "_ratio", "_raw", "_small")

    def __init__(self, compressor: Compressor) -> None:
        self._compressor = compressor
        self._at = iter(_TRAIN_AT)
        self._next: int | None = next(self._at)
        self._puts = 0
        self._raw = 0
        self._small = 0
        self._ratio = 1.0

    def put(self, length: int, small: int, count: int) -> bool:
        """Records that a document of ``length`` bytes was compressed to ``small`` bytes; returns whether to call
        `is_due`.
        """
        self._puts += 1
        self._raw += length
        self._small += small
        return self._puts >= _WINDOW or count == self._next

    def is_due(self, count: int) -> bool:
        """Whether a store of ``count`` objects should train a dictionary now.

        Each reason to train is reported only once: the call starts a new window if the current one is full, and a size
        threshold that has been reached does not count again.
        """
        full = self._puts >= _WINDOW
        drifted = (
            full
            and count >= _TRAIN_AT[0]
            and self._compressor.scheme != UNTRAINED
            and self._small / max(self._raw, 1) > self._ratio * _DRIFT
        )
        if full:
            self._puts = self._raw = self._small = 0
        grown = self._next is not None and count >= self._next
        if grown:
            self._next = next(self._at, None)
        return grown or drifted

    def train(self, documents: Sequence[bytes], count: int = 0) -> bool:
        """Trains dictionaries on documents of a store of ``count`` objects, and adopts the best one if it compresses
        better and the compressor has room for it; a large one only if it compresses better than a small one by as much.
        Returns whether one was adopted.
        """
        # A quarter is held out for evaluation: the samples themselves are in the dictionary.
        judges = documents[3::4]
        samples = [document for place, document in enumerate(documents) if place % 4 != 3]
        before = in_use = sum(len(self._compressor.compress(document)[1]) for document in judges)
        best = None
        for size in (DICTIONARY_BYTES, LARGE_DICTIONARY_BYTES) if count >= _TRAIN_AT[1] else (DICTIONARY_BYTES,):
            for candidate in trained_on(samples, size):
                small = sum(len(candidate.compress(document)) for document in judges)
                if small < in_use * (1 if best is not None and best[1] == size else _WORTH):
                    in_use, best = small, (candidate, size)
        adopted = best is not None and self._compressor.adopt(best[0])
        self._ratio = (in_use if adopted else before) / max(sum(map(len, judges)), 1)
        return adopted
