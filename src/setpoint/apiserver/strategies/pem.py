"""PEM blocks, found as Go's ``encoding/pem`` finds them: text around blocks is skipped, and so are broken blocks."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_BEGIN: Final = b"-----BEGIN "
_END: Final = re.compile(rb"\n-----END ")
_END_LENGTH: Final = len(b"\n-----END ")
_DASHES: Final = b"-----"


class Block(NamedTuple):
    """A PEM block: the words after BEGIN, whether it has headers, and its decoded content."""

    type: bytes
    headers: bool
    content: bytes


def blocks(text: bytes) -> Iterator[Block]:
    searched = 0  # the next block can't begin before this position
    ends = [match.start() for match in _END.finditer(text)]
    for end in ends:
        begin = text.rfind(_BEGIN, searched, end + 1)
        searched = end + 1
        if begin < 0 or (begin > 0 and text[begin - 1 : begin] != b"\n"):
            continue
        block = _block(text, begin + len(_BEGIN), end)
        if block is not None:
            yield block


def _block(text: bytes, start: int, end: int) -> Block | None:
    """The block whose type begins at ``start`` and whose last line follows the line break at ``end``; None if
    the block is broken.
    """
    stop = text.find(b"\n", start)
    kind = text[start:stop].rstrip(b" \t\r")
    after = text.find(b"\n", end + 1)
    last = text[end + _END_LENGTH : after if after >= 0 else len(text)].rstrip(b" \t\r")
    if not kind.endswith(_DASHES) or last != kind:
        return None
    lines = text[stop + 1 : end].split(b"\n") if stop < end else []
    headers = 0
    while headers < len(lines) and b":" in lines[headers]:
        headers += 1
    joined = b"".join(lines[headers:]).translate(None, b" \t\r")
    try:
        content = base64.b64decode(joined, validate=True)
    except binascii.Error:
        return None
    return Block(kind.removesuffix(_DASHES), headers > 0, content)
