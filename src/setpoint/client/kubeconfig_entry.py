"""The entries of a kubeconfig: the clusters, users and contexts, each with its file, for error messages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from setpoint.client.errors import ConfigError


@dataclass(frozen=True, slots=True)
class KubeconfigEntry:
    """A cluster, user or context, with the file that contains it."""

    kind: str
    name: str
    path: Path
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def location(self) -> str:
        return f"{self.kind} {self.name!r} in {self.path}"

    def text(self, key: str) -> str:
        value = self.fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise ConfigError(f"{self.location}: {key} must be a string, not {form(value)}")
        return value

    def flag(self, key: str) -> bool:
        value = self.fields.get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise ConfigError(f"{self.location}: {key} must be true or false, not {form(value)}")
        return value

    def file(self, key: str) -> Path | None:
        text = self.text(key)
        return self.path.parent / text if text else None

    def data(self, key: str) -> bytes:
        text = self.text(key)
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            raise ConfigError(f"{self.location}: {key} is not base64") from None

    def names(self, key: str) -> tuple[str, ...]:
        value = self.fields.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{self.location}: {key} must be a list of strings")
        return tuple(value)

    def entries(self, key: str) -> tuple[Mapping[str, Any], ...]:
        """The mappings in the list under ``key``. Raises `ConfigError` unless each of them has a name."""
        value = self.fields.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise ConfigError(f"{self.location}: {key} must be a list, not {form(value)}")
        for place, entry in enumerate(value):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
                raise ConfigError(f"{self.location}: {key}[{place}] must be a mapping with a name")
        return tuple(value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.fields.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise ConfigError(f"{self.location}: {key} must be a mapping, not {form(value)}")
        return value


def read_yaml(path: Path, missing_ok: bool) -> Any:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        if missing_ok:
            return None
        raise ConfigError(f"kubeconfig {path} does not exist") from None
    except OSError as problem:
        raise ConfigError(f"kubeconfig {path} can't be read: {problem.strerror or problem}") from None
    return parse_yaml(text, path)


def parse_yaml(text: bytes, path: Path) -> Any:
    import yaml

    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both loaders are safe
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark is not None else ""
        why = getattr(problem, "problem", None) or type(problem).__name__
        raise ConfigError(f"kubeconfig {path} is not YAML:{line} {why}") from None
    return {} if document is None else document  # an empty file is an empty configuration


def form(value: Any) -> str:
    forms = {dict: "a mapping", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing" if value is None else forms.get(type(value), type(value).__name__)
