"""zstd at the level of files that are packed once: the standard library's, or its backport."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, compress, decompress
else:
    from backports.zstd import ZstdError, compress, decompress

__all__ = ["ZstdError", "decompress", "packed"]


def packed(content: bytes) -> bytes:
    return compress(content, 19)
