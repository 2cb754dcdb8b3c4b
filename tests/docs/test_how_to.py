"""The pages of the how-to run as they stand: the code of each page is a module, and its tests pass."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tools.docs.navigation import DOCS

PAGES = sorted(page for page in (DOCS / "howto").glob("*.md") if page.name != "index.md")


def module_of(page: Path, folder: Path) -> ModuleType:
    """The blocks of Python of a page as one module, from a file of its own."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    name = f"page_{page.stem.replace('-', '_')}"
    file = folder / f"{name}.py"
    file.write_text("\n\n".join(blocks), "utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_passes_its_own_tests(page: Path, tmp_path: Path) -> None:
    try:
        module = module_of(page, tmp_path)
        tests = [function for name, function in inspect.getmembers(module, inspect.isfunction) if name[:5] == "test_"]
        assert tests, f"{page.name} has no test"
        for test in tests:
            test()
    finally:
        sys.modules.pop(f"page_{page.stem.replace('-', '_')}", None)


def test_the_list_of_pages_has_each() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "howto" / "index.md").read_text("utf-8"))
    assert sorted(listed) == [page.name for page in PAGES]
