"""Valid objects of every built-in kind, from ``samples.yaml``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

JsonObject = dict[str, Any]


@cache
def samples() -> list[JsonObject]:
    """All of them. Templates that say ``{pod}`` have the spec of the first sample of a Pod."""
    documents: list[JsonObject] = list(yaml.safe_load_all(Path(__file__).with_name("samples.yaml").read_text()))
    spec = next(item["spec"] for item in documents if item["kind"] == "Pod")
    text = json.dumps(documents).replace('"{pod}"', json.dumps(spec))
    document: list[JsonObject] = json.loads(text)
    return document
