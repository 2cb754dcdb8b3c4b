"""Option sources: the values of flags from the environment and from a file, beside those of the command line."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cyclopts.config import Dict, Env

from setpoint.apps.error_reports import UsageError

if TYPE_CHECKING:
    from cyclopts import App, ArgumentCollection

logger = logging.getLogger("setpoint.manager")
_CONFIG: Final = "--config"


class OptionSources:
    """Reads the flags of a command that the command line does not have, from variables such as
    ``SETPOINT_LEADER_ELECT`` and then from the YAML file of ``--config``, whose keys are the flags' names. Flags with a
    value from any source are remembered, with the source.

    ``hidden`` are the names of flags whose values are not shown.
    """

    def __init__(self, prefix: str, hidden: frozenset[str] = frozenset()) -> None:
        self._prefix = prefix
        self._hidden = hidden
        self._values: dict[str, str] = {}

    def __call__(self, app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """Adds the values to the arguments; cyclopts calls this method.

        Raises:
            UsageError: the file can't be read, or is not a mapping of flags to values.
        """
        Env(self._prefix, command=False)(app, commands, arguments)
        file = next((str(tokens[0].value) for name, tokens in _set_options(arguments) if name == _CONFIG), None)
        if file is not None:
            values = _read(Path(file), {name.removeprefix("--") for argument in arguments for name in argument.names})
            Dict(values, use_commands_as_keys=False, source=file)(app, commands, arguments)
        self._values = {}
        for name, tokens in _set_options(arguments):
            source = {"cli": "flag", "env": tokens[0].keyword or "environment"}.get(tokens[0].source, file or "")
            hidden = name.removeprefix("--") in self._hidden
            value = "***" if hidden else ",".join(str(_value(token)) for token in tokens)
            self._values[name] = f"{name}={value} ({source})"

    def set_values(self, names: Iterable[str]) -> list[str]:
        """The flags among these that have a value from any source, each with the value and the source."""
        return [self._values[name] for name in map("--{}".format, names) if name in self._values]

    def log(self) -> None:
        """Writes a log record with all values that differ from the defaults, each with its source."""
        if self._values:
            logger.info("options: %s", ", ".join(self._values.values()))


def hidden_fields(options: type[Any] | None) -> frozenset[str]:
    """The flags of a program's own options that are not shown: fields with ``repr=False``, such as passwords."""
    if options is None or not dataclasses.is_dataclass(options):
        return frozenset()
    return frozenset(field.name.replace("_", "-") for field in dataclasses.fields(options) if not field.repr)


def _set_options(arguments: ArgumentCollection) -> list[tuple[str, list[Any]]]:
    return [(argument.name, argument.tokens) for argument in arguments if argument.tokens]


def _value(token: Any) -> Any:
    """The value of a token; a flag without a value has an implicit one."""
    return token.value if token.value else token.implicit_value


def _read(file: Path, names: set[str]) -> dict[str, Any]:
    """The values in the file, by flag. Raises `UsageError` if the file is not a mapping of flags to values."""
    from setpoint.meta.yaml_files import YamlFileError, read_first  # few programs have such a file

    try:
        content = read_first(file)
    except YamlFileError as problem:
        raise UsageError(f"--config {problem}") from None
    if content is not None and not isinstance(content, dict):
        raise UsageError(f"--config {file}: it must be a mapping of flags to values, such as leader-elect: true")
    content = content or {}
    for key in content:
        if str(key).replace("_", "-") not in names or key == "config":
            raise UsageError(f"--config {file}: {key} is not a flag of this command; run --help lists them")
    return content
