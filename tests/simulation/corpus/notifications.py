"""Notifications: mails and messages, which can't be taken back."""

from __future__ import annotations

from tests.simulation.corpus.pair import Pair
from tests.simulation.corpus.store_operators import DERIVED, Store, StoreSpec, changes, made

import setpoint as sp
from setpoint.simulation import External, call

# -- a mail for each image ---------------------------------------------------------------------------------------------


class Mail(External):
    """A mail server that sends a mail of one identity once."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    @call
    async def send(self, identity: str, text: str) -> None:
        if identity not in [expected for expected, _ in self.sent]:
            self.sent.append((identity, text))


mail = Mail()


async def noted_before_it_is_sent(store: Store, ctx: sp.Context) -> None:
    if store.status.current == store.spec.image:
        return
    note = {"status": {"current": store.spec.image}}
    await ctx.client.patch(Store, store.name, note, namespace=store.namespace, subresource="status")
    await mail.send(f"{store.uid}/{store.metadata.generation}", f"{store.name} gets {store.spec.image}")


async def noted_when_it_was_sent(store: Store, ctx: sp.Context) -> None:
    if store.status.current == store.spec.image:
        return
    await ctx.ensure_current()
    await mail.send(f"{store.uid}/{store.metadata.generation}", f"{store.name} gets {store.spec.image}")
    store.status.current = store.spec.image


# -- a message for each change -----------------------------------------------------------------------------------------


class Topic(External):
    """A topic whose messages have keys; a message with the key of an earlier one takes its place."""

    def __init__(self) -> None:
        self.messages: dict[str, str] = {}

    @call
    async def publish(self, key: str, text: str) -> None:
        self.messages[key] = text


topic = Topic()


def by_what_the_process_saw() -> list[sp.Controller[Store]]:
    seen: dict[str, str] = {}

    async def reconcile(store: Store, _ctx: sp.Context) -> None:
        before = seen.get(store.uid)
        if before is not None and before != store.spec.image:
            await topic.publish(f"{store.uid}/{store.metadata.generation}", f"{before} to {store.spec.image}")
        seen[store.uid] = store.spec.image

    return [sp.Controller(Store, reconcile)]


async def by_what_the_status_says(store: Store, ctx: sp.Context) -> None:
    before = store.status.current
    if before == store.spec.image:
        return
    await ctx.ensure_current()
    if before:
        await topic.publish(f"{store.uid}/{store.metadata.generation}", f"{before} to {store.spec.image}")
    store.status.current = store.spec.image


IMAGES = changes(StoreSpec(), StoreSpec(image="store:2"), StoreSpec(image="store:3"))

PAIRS = [
    Pair(
        name="mail-recorded-before-sending",
        root="R23",
        source=DERIVED,
        scenario=IMAGES,
        buggy=made(noted_before_it_is_sent),
        correct=made(noted_when_it_was_sent),
        options={"externals": [mail]},
    ),
    Pair(
        name="message-by-missed-transition",
        root="R37",
        source=DERIVED,
        scenario=IMAGES,
        buggy=by_what_the_process_saw,
        correct=made(by_what_the_status_says),
        options={"externals": [topic]},
    ),
]
