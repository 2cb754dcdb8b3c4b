"""Record: the stored form of an object, as a single `bytes`.

A record is a compressed document followed by a trailer of fixed size. An immutable `bytes` takes less than half the
memory of the smallest Python object with attributes, and the cyclic garbage collector never traverses it.
"""

from __future__ import annotations

import struct

Record = bytes
"""Compressed document and trailer; made by `seal`."""

_TRAILER = struct.Struct("<QQIIB")
TRAILER_BYTES = _TRAILER.size
_FINGERPRINT = slice(8 - TRAILER_BYTES, 16 - TRAILER_BYTES)
_pack = _TRAILER.pack
_unpack_from = _TRAILER.unpack_from


def version_number(resource_version: str) -> int:
    """The resource version as a number, which orders writes to one resource; 0 if the version is not a number.

    Since Kubernetes 1.35 versions are guaranteed to be comparable as numbers (KEP-5504). Other servers may send any
    text; versions that are not numbers can only be compared for equality.
    """
    # Longer numbers don't fit into 64 bits, and Python refuses to parse very long ones.
    if len(resource_version) <= 20 and resource_version.isascii() and resource_version.isdigit():
        number = int(resource_version)
        return number if number < 1 << 64 else 0
    return 0


def seal(small: bytes, version: int, fingerprint: int, end: int, length: int, scheme: int) -> Record:
    """The record of a compressed document.

    ``version`` is the `version_number`. ``fingerprint`` is 64 bits that change with the index values, the uid and the
    owners. ``end`` is the position in the document where the metadata ends, ``length`` the length of the document, and
    ``scheme`` the argument for `Compressor.decompress`.
    """
    return small + _pack(version, fingerprint, end, length, scheme)


def unseal(record: Record) -> tuple[int, int, int, int, int]:
    """The version, fingerprint, end, length and scheme of a record; see `seal`."""
    version, fingerprint, end, length, scheme = _unpack_from(record, len(record) - TRAILER_BYTES)
    return version, fingerprint, end, length, scheme


def version_of(record: Record) -> int:
    return int.from_bytes(record[-TRAILER_BYTES : 8 - TRAILER_BYTES], "little")


def same_fingerprint(left: Record, right: Record) -> bool:
    """Whether two records with the same key belong to the same object and have the same owners and index values."""
    return left[_FINGERPRINT] == right[_FINGERPRINT]


def scheme_of(record: Record) -> int:
    return record[-1]
