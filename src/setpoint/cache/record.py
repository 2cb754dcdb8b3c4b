"""Record: the stored form of one object, in one `bytes`.

A compressed document followed by a trailer of fixed size. One immutable `bytes` costs less than half as much as the
smallest Python object with attributes, and the cyclic garbage collector never traverses it.
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
    """The resource version as a number, which orders writes to one resource; 0 if it is not a number.

    Since Kubernetes 1.35 versions are guaranteed to be comparable this way (KEP-5504). Other servers may send anything;
    such versions can only be compared for equality.
    """
    # Longer numbers don't fit into 64 bits, and Python refuses to parse very long ones.
    if len(resource_version) <= 20 and resource_version.isascii() and resource_version.isdigit():
        number = int(resource_version)
        return number if number < 1 << 64 else 0
    return 0


def seal(small: bytes, version: int, fingerprint: int, end: int, length: int, scheme: int) -> Record:
    """A record of a compressed document.

    ``version`` is the `version_number`, ``fingerprint`` 64 bits that change with the index values, the uid and the
    owners, ``end`` the end of the metadata in the document, ``length`` the document's, ``scheme`` the one for
    `Compressor.decompress`.
    """
    return small + _pack(version, fingerprint, end, length, scheme)


def unseal(record: Record) -> tuple[int, int, int, int, int]:
    """Version, fingerprint, end, length, scheme."""
    version, fingerprint, end, length, scheme = _unpack_from(record, len(record) - TRAILER_BYTES)
    return version, fingerprint, end, length, scheme


def version_of(record: Record) -> int:
    return int.from_bytes(record[-TRAILER_BYTES : 8 - TRAILER_BYTES], "little")


def same_fingerprint(one: Record, other: Record) -> bool:
    """Whether two records of one key are of the same object, with the same owners and index values."""
    return one[_FINGERPRINT] == other[_FINGERPRINT]


def scheme_of(record: Record) -> int:
    return record[-1]
