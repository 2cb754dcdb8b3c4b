"""Descriptions, cut to what an editor's tooltip should show."""

from __future__ import annotations

import re
import textwrap

_SENTENCE = re.compile(
    r"(?<=[a-z0-9)\]\"'`][.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)\s+(?=[A-Z\"'`])|(?<=[A-Z]{2}\.)\s+(?=[A-Z])"
)
_SAYS_MORE = re.compile(
    r"(?i)^(defaults?\b|deprecated\b|the default\b|must be\b|valid values\b|immutable\b|cannot be updated)"
)
_MORE_INFO = re.compile(r"(?i)^(more info|see) ?:? ?(at )?http|^more info:|^todo\b|^\+")
_WIDTH = 120


def class_doc(description: str, *, limit: int = 480) -> str:
    """The first paragraph, at most ``limit`` characters of whole sentences."""
    sentences = _useful(description)
    shortened = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join((*shortened, sentence))) > limit:
            break
        shortened.append(sentence)
    return " ".join(shortened)


def field_doc(description: str, *, limit: int = 260) -> str:
    """The first sentence, and the later ones that tell of a default, a deprecation or what is allowed."""
    sentences = _useful(description)
    shortened = sentences[:1]
    for sentence in sentences[1:]:
        if (_SAYS_MORE.match(sentence) or len(shortened[0]) < 40) and len(" ".join((*shortened, sentence))) <= limit:
            shortened.append(sentence)
    return " ".join(shortened)


def _useful(description: str) -> list[str]:
    """Without pointers to elsewhere, and without the head of a list that is not shown."""
    sentences = [sentence for sentence in _sentences(description) if not _MORE_INFO.match(sentence)]
    return [sentence for place, sentence in enumerate(sentences) if place == 0 or not sentence.endswith(":")]


def _sentences(description: str) -> list[str]:
    paragraph = " ".join(description.strip().partition("\n\n")[0].split())
    return [sentence for sentence in _SENTENCE.split(paragraph) if sentence]


def docstring(text: str, indent: str) -> list[str]:
    """The lines of a string literal that says ``text``, wrapped."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    width = _WIDTH - len(indent)
    if len(escaped) + 6 <= width:
        return [f'{indent}"""{escaped}"""']
    lines = textwrap.wrap(f'"""{escaped}', width, break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in lines] + [f'{indent}"""']
