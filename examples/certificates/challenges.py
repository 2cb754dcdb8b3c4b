"""challenges.py: the way of the program to ACME servers, and theirs to it: it answers their challenges over HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from acme import Acme, Web
from aiohttp import web
from certkinds import Certificate

import setpoint as sp
from setpoint.cache import Lister

PATH = "/.well-known/acme-challenge/{token}"


@dataclass
class Options:
    """The program's own flags of ``run``."""

    challenge_port: int = 8089
    """The port that answers ACME servers; 0 for none. The names' web servers have to forward that path to it."""
    challenge_host: str = "0.0.0.0"
    """The address on which it does."""


def answer_of(certificates: Lister[Certificate], token: str) -> str:
    """The answer to a challenge, from the status of the Certificate that it is for; ``""`` if there is none."""
    for key in certificates.keys(index=("token", token)):
        order = certificates.get(key).status.order
        if order is not None and token in order.answers:
            return order.answers[token]
    return ""


class Answers:
    """Answers ACME servers, in every replica: an answer is in the cache of each of them."""

    leader_only = False

    def __init__(self, certificates: Lister[Certificate], options: Options) -> None:
        self.certificates = certificates
        self.options = options

    async def run(self) -> None:
        app = web.Application()
        app.router.add_get(PATH, self.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, self.options.challenge_host, self.options.challenge_port).start()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def answer(self, request: web.Request) -> web.Response:
        answer_text = answer_of(self.certificates, request.match_info["token"])
        return web.Response(text=answer_text) if answer_text else web.Response(status=404)


@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncGenerator[Acme]:
    """Opens the session of HTTP for as long as the program lives."""
    if program.options.challenge_port:
        certificates = program.manager.factory.informer(Certificate).lister
        program.manager.add(Answers(certificates, program.options))
    async with aiohttp.ClientSession() as session:
        yield Acme(Web(session))
