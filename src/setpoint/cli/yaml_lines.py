"""The lines of fields in YAML files."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


class YamlLines:
    """Finds the lines of fields in the text of a file, by the numbers of its documents, which count from 0 and leave
    out empty ones. In a text that PyYAML can't read, no line is known.
    """

    def __init__(self, text: bytes) -> None:
        try:
            nodes = list(yaml.compose_all(text, yaml.CSafeLoader))
        except (yaml.YAMLError, UnicodeDecodeError):
            nodes = []
        self._nodes = [node for node in nodes if isinstance(node, yaml.MappingNode)]

    def line(self, number: int, path: str, item: int | None = None) -> int:
        """The line of the field ``path`` (``spec.containers[0].name``) of a document, or of the last part of the path
        that exists; 0 if it is not known. ``item`` is the index of the object in a list.
        """
        if number >= len(self._nodes):
            return 0
        node: Any = self._nodes[number]
        line = node.start_mark.line
        steps = [bracket or name for bracket, name in _STEP.findall(path)]
        for step in [*(["items", str(item)] if item is not None else []), *steps]:
            child = _child(node, step)
            if child is None:
                break
            key, node = child
            line = key.start_mark.line
        return int(line) + 1


def _child(node: Any, step: str) -> tuple[Any, Any] | None:
    """The node below ``node``, after the node whose line it has."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if getattr(key, "value", None) == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        return node.value[int(step)], node.value[int(step)]
    return None
