"""The demo offers pages where a person may look at them, and costs nothing more where there is none."""

import asyncio
import re
from io import StringIO

import aiohttp
import demo_steps
import demo_view
import pytest
from rich.console import Console


class Written(StringIO):
    """Text that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = asyncio.Event()

    def write(self, text: str) -> int:
        self.changed.set()
        return super().write(text)

    async def until(self, words: str) -> None:
        while words not in self.getvalue():
            self.changed.clear()
            await self.changed.wait()


async def test_a_demo_that_is_kept_has_pages_of_the_cluster_and_of_the_controller() -> None:
    out = Written()
    running = asyncio.create_task(demo_steps.main(Console(file=out, width=200), keep=True))
    waiting = asyncio.create_task(out.until("the pages stay until Ctrl-C: converged"))
    ended, _ = await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert ended == {waiting}, "a demo that is kept does not end by itself"
    cluster, controller = re.findall(r"page: (http\S+)ui/", out.getvalue())
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{cluster}debug/stored?kind=mykinds.grp.example.com&key=default/sample") as answer:
            page = await answer.json()
        assert [child["key"] for child in page["owned"]] == ["default/sample-0", "default/sample-1"]
        async with session.get(f"{controller}debug/details?controller=mykind&key=default/sample") as answer:
            assert (await answer.json())["explanation"]["timeline"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_a_demo_without_a_terminal_has_no_page_and_other_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert not demo_view.view_for(Console(file=StringIO())).pages
    assert demo_view.view_for(Console(file=StringIO(), force_terminal=True)).pages
    with pytest.raises(SystemExit):
        demo_steps.run(["--yes"])
    assert "demo: --yes: the demo only knows --ui" in capsys.readouterr().err
