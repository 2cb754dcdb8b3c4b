"""The results of tools: structured content of limited size, in which no text can act on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from mcp.types import CallToolResult, TextContent

from setpoint.meta.text_escaping import unicode_text, visible

CONTENT_SIZE: Final = 64 * 1024
"""The maximum size of a structured result, in bytes of JSON: some 16,000 tokens of a language model."""
TEXT_LENGTH: Final = 8_000
"""The maximum number of characters of the text beside it."""
_DEPTH: Final = 40
_STEPS: Final = ((1_000, 8_000), (300, 4_000), (100, 2_000), (30, 1_000), (10, 500), (3, 200), (1, 100))
"""The numbers of entries and of characters at which lists, mappings and texts are cut, until the result is small."""
_INVISIBLE: Final = dict.fromkeys([0x200B, *range(0x2060, 0x2065), 0xFEFF, *range(0xE0000, 0xE1000)], 0xFFFD)
"""Characters without a glyph, tags among them: words in them are read by models, but not seen by people."""


def tool_result(content: Mapping[str, Any], text: str) -> CallToolResult:
    """A result with ``content`` (JSON values) as structured content, and ``text`` for clients that show only texts.

    Escape sequences and invisible characters in any text are made visible. If the content is too large, long lists,
    mappings and texts in it are cut, and its entry ``truncated`` says so.
    """
    structured: dict[str, Any] = {}
    for entries, characters in _STEPS:
        cutter = _Cutter(entries, characters)
        structured = {name: cutter.cut(value, 1) for name, value in content.items()}  # the tool's own few entries
        if cutter.has_cut:
            structured["truncated"] = (
                f"lists and objects were cut after {entries} entries, texts after {characters} characters: "
                "narrow the request"
            )
        if len(msgspec.json.encode(structured)) <= CONTENT_SIZE:
            break
    printable = _printable(text).strip()
    if len(printable) > TEXT_LENGTH:
        printable = f"{printable[:TEXT_LENGTH]}\n... ({len(printable) - TEXT_LENGTH} more characters)"
    return CallToolResult(content=[TextContent(type="text", text=printable)], structured_content=structured)


def _printable(text: str) -> str:
    return text if text.isascii() and text.isprintable() else visible(unicode_text(text)).translate(_INVISIBLE)


class _Cutter:
    """Copies JSON values with at most ``entries`` entries of a list or mapping and ``characters`` of a text."""

    def __init__(self, entries: int, characters: int) -> None:
        self._entries = entries
        self._characters = characters
        self.has_cut = False

    def cut(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict | list) and depth >= _DEPTH:
            self.has_cut = True
            return None
        if isinstance(value, dict):
            self.has_cut |= len(value) > self._entries
            first = list(value.items())[: self._entries]
            return {self._text(str(key)): self.cut(item, depth + 1) for key, item in first}
        if isinstance(value, list):
            self.has_cut |= len(value) > self._entries
            return [self.cut(item, depth + 1) for item in value[: self._entries]]
        return value

    def _text(self, text: str) -> str:
        self.has_cut |= len(text) > self._characters
        return _printable(text[: self._characters])
