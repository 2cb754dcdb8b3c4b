"""Generates ``src/setpoint/models`` from the pinned packages: ``python tools/generate_models.py [--check]``.

``--check`` writes nothing and exits 1 with the names of the files that differ.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a script, the folder above is not on the path

from tools import zstd
from tools.models import inputs
from tools.models.history import packed_history
from tools.models.modules import read_mixins, render_module
from tools.models.schema_data import pack
from tools.models.table import render_table
from tools.models.types import Types

FOLDER = Path(__file__).parent.parent / "src" / "setpoint" / "models"
HEADER = f"# Generated from Kubernetes {inputs.MINOR} by tools/generate_models.py: do not edit, run `make models`."


def generate() -> dict[str, bytes]:
    """Every generated file's name and content."""
    definitions, served = inputs.definitions(), inputs.served()
    types = Types(definitions)
    mixins = read_mixins(FOLDER / "_mixins.py")
    modules, passed_on = types.modules(), types.passed_on()
    if unknown := mixins.keys() - modules.keys():
        raise SystemExit(f"_mixins.py names modules that there are none of: {sorted(unknown)}")
    files = {
        f"{name}.py": render_module(name, classes, HEADER, mixins, passed_on.get(name, {})).encode()
        for name, classes in modules.items()
    }
    packed = pack(definitions)
    files["_table.py"] = render_table(types, served, packed, HEADER).encode()
    files |= {f"schemas/{package}.json.zst": content for package, content in packed.items()}
    files["history.json.zst"] = packed_history()
    return files


def differing(files: dict[str, bytes], folder: Path) -> list[str]:
    """Names of files that are not what they should be, and of generated ones that should not be there."""
    wrong = [name for name, content in files.items() if not _same(folder / name, content)]
    header = HEADER.partition("Kubernetes")[0].encode()
    stale = [
        path.name for path in folder.glob("*.py") if path.name not in files and path.read_bytes().startswith(header)
    ]
    stale += [f"schemas/{path.name}" for path in folder.glob("schemas/*") if f"schemas/{path.name}" not in files]
    return sorted(wrong + stale)


def _same(path: Path, content: bytes) -> bool:
    if not path.is_file():
        return False
    stored = path.read_bytes()
    if path.suffix == ".zst":  # another release of zstd may pack the same content differently
        return _unpacked(stored) == _unpacked(content)
    return stored == content


def _unpacked(content: bytes) -> bytes | None:
    try:
        return zstd.decompress(content)
    except zstd.ZstdError:
        return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="generate_models", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the models are (default: %(default)s)")
    options = parser.parse_args(arguments)
    files = generate()
    wrong = differing(files, options.folder)
    if options.check:
        if wrong:
            print("generated models are not up to date, run `make models`:", *wrong, sep="\n  ")
        return 1 if wrong else 0
    for name in wrong:
        path = options.folder / name
        if name in files:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(files[name])
        else:
            path.unlink()
    print(f"{len(files)} files, {len(wrong)} changed: {', '.join(wrong) or 'nothing'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
