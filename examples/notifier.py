"""notifier.py: tells an HTTP endpoint of every Announcement, once for each change of its text.

Its `lifespan` has the session for its reconciles, options, a metric and a task of its own.

python examples/notifier.py run --embedded --endpoint http://127.0.0.1:9000/announcements
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiohttp
from prometheus_client import Counter

import setpoint as sp


class AnnouncementSpec(sp.Model):
    text: str = ""


class AnnouncementStatus(sp.ConditionedStatus):
    delivered_text: str = ""


class Announcement(sp.CustomResource, group="news.example.com", version="v1"):
    """A text to be sent."""

    spec: AnnouncementSpec = AnnouncementSpec()
    status: AnnouncementStatus = AnnouncementStatus()


@dataclass
class Options:
    """The program's own flags of ``run``."""

    endpoint: str = "http://127.0.0.1:9000/"
    """The URL that announcements are posted to."""


@dataclass
class App:
    """The program's state, which reconciles get as ``ctx.state(App)``."""

    session: aiohttp.ClientSession
    endpoint: str
    counter: Counter


@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncGenerator[App]:
    """Opens what the program needs for as long as it lives."""
    counter = Counter("announcements_sent", "Announcements that the endpoint took.", registry=program.registry)
    async with aiohttp.ClientSession() as session:
        app = App(session, program.options.endpoint, counter)
        program.manager.readyz.add("endpoint", lambda: "the session is closed" if session.closed else "")
        program.manager.add(KeepAwake(app))
        yield app


class KeepAwake:
    """Greets the endpoint now and then; in every replica, whether it leads or not."""

    leader_only = False

    def __init__(self, app: App) -> None:
        self.app = app

    async def run(self) -> None:
        while True:
            await asyncio.sleep(300)
            with suppress(aiohttp.ClientError, TimeoutError):  # an endpoint that is away ends no program
                async with self.app.session.get(self.app.endpoint):
                    pass


async def reconcile(announcement: Announcement, ctx: sp.Context) -> sp.Outcome:
    if announcement.status.delivered_text == announcement.spec.text:
        return sp.done()
    if (
        announcement.status.delivered_text
    ):  # this text is over, even if the note of the next one is lost and this one comes back
        announcement.status.delivered_text = ""
        return sp.after(0)
    await ctx.ensure_current()  # no server guards the endpoint: an old view would tell it an old text
    app = ctx.state(App)
    try:
        async with app.session.post(app.endpoint, data=announcement.spec.text, raise_for_status=True):
            app.counter.inc()
    except (aiohttp.ClientError, TimeoutError) as problem:
        return sp.retry(f"{app.endpoint} did not take the text: {problem or type(problem).__name__}")
    announcement.status.delivered_text = announcement.spec.text
    return sp.done()


controller = sp.Controller(Announcement, reconcile)

if __name__ == "__main__":
    sp.main(controller, options=Options, lifespan=lifespan)
