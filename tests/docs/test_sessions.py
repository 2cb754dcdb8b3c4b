"""A page that says what a command does not print is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.docs.sessions import File, follow, steps

PAGE = """\
# Words

Save this as `words.py`:

```python
print("one")
```

```console
$ cat words.py
print("one")
$ (echo two; echo three) &
two
three
$ echo four
five
```
"""


def test_other_output_than_the_page_says_is_found_and_can_be_written_into_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    result = follow([page], tmp_path)
    assert result == ["page.md: $ echo four\n  says ['five']\n  prints ['four']"]
    follow([page], tmp_path, write=True)
    assert page.read_text() == PAGE.replace("five", "four")
    assert follow([page], tmp_path) == []


def test_a_block_of_code_without_the_name_of_its_file_is_refused() -> None:
    assert [step.name for step in steps(PAGE) if isinstance(step, File)] == ["words.py"]
    with pytest.raises(ValueError, match="names no file"):
        list(steps(PAGE.replace("`words.py`", "a file")))


def test_how_long_a_rollout_took_is_not_said(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    waits = 'Waiting for deployment "a" rollout to finish: 0 of 2 updated replicas are available...'
    page.write_text(f"```console\n$ echo '{waits}'; echo done\ndone\n```\n")
    assert follow([page], tmp_path) == []
