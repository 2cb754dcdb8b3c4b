"""``setpoint crd migrate``: runs a migration with a progress bar, and stores its progress."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from setpoint.apps.storage_migration import Progress, StorageMigration
from setpoint.client import Client
from setpoint.models.apiextensions_v1 import CustomResourceDefinition


async def migrate(client: Client, name: str, state: Path | None) -> None:
    """Runs the migration with a progress bar, and stores its progress in a file, which is removed at the end.

    The file is ``state``; if that is None, a file in the user's state folder with the definition's uid in its name.

    Raises:
        MigrationError: see `StorageMigration.run`.
    """
    console = Console(stderr=True, highlight=False)
    definition = await client.get(CustomResourceDefinition, name)
    file = state or _state_folder() / f"crd-migrate-{definition.uid}.json"
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)

        def show(progress: Progress, done: int, remaining: int) -> None:
            file.parent.mkdir(parents=True, exist_ok=True)
            new = file.with_name(f".{file.name}.{os.getpid()}")
            new.write_bytes(msgspec.json.encode(progress))
            new.replace(file)
            bar.update(task, completed=done, total=done + remaining)

        migration = StorageMigration(client, name, progress=_remembered(file), on_progress=show)
        total = await migration.run()
    file.unlink(missing_ok=True)
    definition = await client.get(CustomResourceDefinition, name)
    console.print(f"{name}: objects written: {total}, stored versions: {', '.join(definition.status.stored_versions)}")


def _remembered(file: Path) -> Progress:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Progress)
    except (FileNotFoundError, msgspec.DecodeError):
        return Progress()  # never started, or not our file: writing an object twice does no harm


def _state_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "setpoint"
