"""Compression of many small, similar documents, with a dictionary trained on them.

A dictionary of 32 KiB compresses a pod of 3.5 KB to about 250 bytes, whereas zstd alone compresses it to 1.5 KB. Most
of what remains is random identifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from setpoint.zstd import Codec, codec, dictionaries

PLAIN = 0
"""The scheme of documents that are stored uncompressed, because compression gains nothing."""
UNTRAINED = 1
"""The scheme of documents compressed without a dictionary."""

DICTIONARY_BYTES = 32 * 1024
LARGE_DICTIONARY_BYTES = 112 * 1024
"""For objects that share more text than fits into a small dictionary, such as nodes, which list their images."""
MAX_DICTIONARIES = 32
"""The maximum number of trained dictionaries of one `Compressor`."""
_GAIN: Final = 0.97


def trained_on(samples: Sequence[bytes], size: int = DICTIONARY_BYTES) -> Iterator[Codec]:
    """Codecs with dictionaries of at most ``size`` bytes, trained on sample documents; none if the samples are too
    small (less than 4 KiB together) or have nothing in common.

    Training takes 10 to 30 ms for a hundred samples of a few kilobytes.
    """
    total = sum(map(len, samples))
    if total >= 4096:
        yield from map(codec, dictionaries(samples, max(min(size, total // 4), 1024)))


class Compressor:
    """Compresses with the newest dictionary, and can decompress with every dictionary that it has used.

    Each compressed document has a scheme, a small integer: `PLAIN`, `UNTRAINED`, or the number of a dictionary. A
    compressed document is never larger than the original. Dictionaries are kept forever, because a snapshot, a
    handler's mailbox or any other part of the program may still hold a record that was compressed with an old
    dictionary; therefore there are at most `MAX_DICTIONARIES`.
    """

    def __init__(self) -> None:
        first = codec()
        self.scheme = UNTRAINED
        self._compress = first.compress
        self._decompress: list[Callable[[bytes], bytes]] = [lambda document: document, first.decompress]

    def compress(self, document: bytes) -> tuple[int, bytes]:
        """The scheme and the compressed document."""
        small = self._compress(document)
        if len(small) > len(document) * _GAIN:
            return PLAIN, document
        return self.scheme, small

    def decompress(self, scheme: int, small: bytes) -> bytes:
        """The original document. Bytes that follow the compressed document are ignored, except with the scheme `PLAIN`,
        where they count as part of the document.
        """
        return self._decompress[scheme](small)

    def adopt(self, dictionary: Codec) -> bool:
        """Uses the codec of a new ``dictionary`` from now on, unless there are already `MAX_DICTIONARIES`; returns
        whether it is used.
        """
        if self.scheme == UNTRAINED + MAX_DICTIONARIES:
            return False
        self._decompress.append(dictionary.decompress)
        self._compress = dictionary.compress
        self.scheme += 1
        return True
