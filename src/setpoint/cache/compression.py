"""Compression of many small, similar documents, with a dictionary trained on them.

A dictionary of 32 KiB compresses a pod of 3.5 KB to about 250 bytes, whereas zstd alone compresses it to 1.5 KB. Most
of what remains is random identifiers.
"""

from __future__ import annotations

from collections.abc import Sequence

import zstandard

PLAIN = 0
"""The scheme of documents that are stored uncompressed, because compression gains nothing."""
UNTRAINED = 1
"""The scheme of documents compressed without a dictionary."""

DICTIONARY_BYTES = 32 * 1024
MAX_DICTIONARIES = 32
"""The maximum number of trained dictionaries of one `Compressor`."""
_LEVEL = 1
_SEGMENT = (256, 3072)
_GAIN = 0.97
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(
    _LEVEL,
    format=zstandard.FORMAT_ZSTD1_MAGICLESS,
    write_dict_id=False,
    write_content_size=True,
    write_checksum=False,
)


class Dictionary:
    """Compresses and decompresses with a trained dictionary; without ``data``, compresses without a dictionary."""

    def __init__(self, data: zstandard.ZstdCompressionDict | None = None) -> None:
        self.compress = zstandard.ZstdCompressor(dict_data=data, compression_params=_PARAMETERS).compress
        self.decompress = zstandard.ZstdDecompressor(dict_data=data, format=zstandard.FORMAT_ZSTD1_MAGICLESS).decompress

    @classmethod
    def trained_on(cls, samples: Sequence[bytes]) -> Dictionary | None:
        """A dictionary trained on sample documents; None if the samples are too small (less than 4 KiB together) or
        have nothing in common.

        Training takes about 10 ms for a hundred samples of a few kilobytes.
        """
        total = sum(map(len, samples))
        if total < 4096:
            return None
        # Segments about as long as a document: whole documents make the best dictionary for others of their kind.
        segment = min(max(total // len(samples), _SEGMENT[0]), _SEGMENT[1])
        size = max(min(DICTIONARY_BYTES, total // 4), segment * 2, 1024)
        try:
            return cls(zstandard.train_dictionary(size, list(samples), k=segment, d=8))
        except zstandard.ZstdError:
            return None


class Compressor:
    """Compresses with the newest dictionary, and can decompress with every dictionary that it has used.

    Each compressed document has a scheme, a small integer: `PLAIN`, `UNTRAINED`, or the number of a dictionary. A
    compressed document is never larger than the original. Dictionaries are kept forever, because a snapshot, a
    handler's mailbox or any other part of the program may still hold a record that was compressed with an old
    dictionary; therefore there are at most `MAX_DICTIONARIES`.
    """

    def __init__(self) -> None:
        first = Dictionary()
        self.scheme = UNTRAINED
        self._compress = first.compress
        self._decompress = [lambda document: document, first.decompress]

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
        document: bytes = self._decompress[scheme](small)
        return document

    def adopt(self, dictionary: Dictionary) -> bool:
        """Uses ``dictionary`` from now on, unless there are already `MAX_DICTIONARIES`; returns whether it is used."""
        if self.scheme == UNTRAINED + MAX_DICTIONARIES:
            return False
        self._decompress.append(dictionary.decompress)
        self._compress = dictionary.compress
        self.scheme += 1
        return True
