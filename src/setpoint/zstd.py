"""zstd: from Python's standard library, which has it from Python 3.14 on, or from the package zstandard.

Both make the same frames. The standard library's makes a decompressor for every frame, which takes 3 µs more on a
processor of its own, and up to 16 µs on a virtual machine whose host emulates ``cpuid``; the package, which needs none,
has no wheels for Python 3.15 and for free-threaded builds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

_LEVEL: Final = 1
_HASH_LOG: Final = 14
"""The binary logarithm of the entries of a compressor's hash table: the level's for long documents. The level's for
short ones, 13, has no room for a large dictionary.
"""
_SEGMENT: Final = (256, 3072)
_MAGIC: Final = (0xFD2FB528).to_bytes(4, "little")
"""The first bytes of a frame (RFC 8878, section 3.1.1)."""
_TABLES: Final = 2048
"""Bytes of a dictionary before its content."""


class Codec(Protocol):
    """Compresses documents to frames without the magic bytes and the dictionary's number, and decompresses these."""

    def compress(self, document: bytes) -> bytes: ...
    def decompress(self, small: bytes) -> bytes:
        """The document of the frame that ``small`` begins with. Raises the library's ZstdError if it is damaged or cut
        off; without a checksum, not all damage shows.
        """
        ...


class Library(Protocol):
    """The functions that both libraries have."""

    def codec(self, dictionary: bytes | None = None) -> Codec: ...
    def dictionaries(self, samples: Sequence[bytes], size: int) -> Iterator[bytes]:
        """Dictionaries of about ``size`` bytes, trained on ``samples`` in different ways; none if these have nothing in
        common.
        """
        ...

    def decompress(self, packed: bytes) -> bytes:
        """The content of an ordinary frame."""
        ...


class Package:
    """The package zstandard."""

    def __init__(self) -> None:
        self._zstd: Any = import_module("zstandard")
        self._parameters = self._zstd.ZstdCompressionParameters.from_level(
            _LEVEL,
            format=self._zstd.FORMAT_ZSTD1_MAGICLESS,
            write_dict_id=False,
            write_content_size=True,
            write_checksum=False,
        )

    def codec(self, dictionary: bytes | None = None) -> Codec:
        return _PackageCodec(self._zstd, dictionary, self._parameters)

    def dictionaries(self, samples: Sequence[bytes], size: int) -> Iterator[bytes]:
        # Segments about as long as a document: whole documents make the best dictionary for others of their kind.
        segment = min(max(sum(map(len, samples)) // len(samples), _SEGMENT[0]), _SEGMENT[1])
        try:
            yield self._zstd.train_dictionary(max(size, segment * 2), list(samples), k=segment, d=8).as_bytes()
        except self._zstd.ZstdError:
            return

    def decompress(self, packed: bytes) -> bytes:
        content: bytes = self._zstd.ZstdDecompressor().decompress(packed)
        return content


class _PackageCodec:
    def __init__(self, zstd: Any, dictionary: bytes | None, parameters: Any) -> None:
        data = None if dictionary is None else zstd.ZstdCompressionDict(dictionary)
        self.compress = zstd.ZstdCompressor(dict_data=data, compression_params=parameters).compress
        self.decompress = zstd.ZstdDecompressor(dict_data=data, format=zstd.FORMAT_ZSTD1_MAGICLESS).decompress


class Standard:
    """The standard library's, or its backport for tests on an older Python."""

    def __init__(self) -> None:
        if sys.version_info < (3, 14):
            self._zstd: Any = import_module("backports.zstd")
            return
        try:
            self._zstd = import_module("compression.zstd")
        except ImportError as error:
            raise ImportError(
                f"this Python was built without zstd ({error}): build it with the headers of libzstd 1.4.5 or newer"
            ) from error

    def codec(self, dictionary: bytes | None = None) -> Codec:
        return _StandardCodec(self._zstd, dictionary)

    def dictionaries(self, samples: Sequence[bytes], size: int) -> Iterator[bytes]:
        # The first is better if documents have only parts in common, the second if they are similar as a whole.
        step = -(-sum(map(len, samples)) // size)
        whole = b"".join(samples[::step])[:size]
        try:
            yield self._zstd.train_dict(samples, size).dict_content
            raw = self._zstd.ZstdDict(whole, is_raw=True)
            yield self._zstd.finalize_dict(raw, samples, size + _TABLES, _LEVEL).dict_content
        except self._zstd.ZstdError:
            return

    def decompress(self, packed: bytes) -> bytes:
        content: bytes = self._zstd.decompress(packed)
        return content


class _StandardCodec:
    def __init__(self, zstd: Any, dictionary: bytes | None) -> None:
        self._dictionary = None if dictionary is None else zstd.ZstdDict(dictionary)
        parameter = zstd.CompressionParameter
        options = {parameter.compression_level: _LEVEL, parameter.hash_log: _HASH_LOG, parameter.dict_id_flag: 0}
        self._compressor = zstd.ZstdCompressor(options=options, zstd_dict=self._dictionary)
        self._decompressor = zstd.ZstdDecompressor
        self._error = zstd.ZstdError

    def compress(self, document: bytes) -> bytes:
        frame: bytes = self._compressor.compress(document, self._compressor.FLUSH_FRAME)
        return frame[len(_MAGIC) :]

    def decompress(self, small: bytes) -> bytes:
        decompressor = self._decompressor(self._dictionary)
        document: bytes = decompressor.decompress(_MAGIC + small)
        if not decompressor.eof:
            raise self._error("the compressed document is cut off")
        return document


_LIBRARY: Final[Library] = Package() if sys.version_info < (3, 14) else Standard()
codec = _LIBRARY.codec
dictionaries = _LIBRARY.dictionaries
decompress = _LIBRARY.decompress
