"""acmeorders.py: certificates by an ACME server: an order that goes a step further in each reconcile.

The order's URL and the answers to its challenges are in the status before the server is told that they are there. An
order whose URL was lost with a process is found again in the server's list of orders.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from acme import Account, Acme, Identifier, Order, Problem, key_authorization
from certkinds import Certificate, Issuer, PlacedOrder
from certrequests import NotYet
from certsecrets import names_of, pair_in, wanted
from signing import Pair, Unusable, is_of, new_key, request

import setpoint as sp
from setpoint.models.core_v1 import Secret

AGAIN = timedelta(hours=1)
"""The time from a failed order to the next one: servers count failures (rate limits)."""
SOON = 1.0
UNFINISHED = ("pending", "ready", "processing")


@contextmanager
def translated_errors() -> Generator[None]:
    """Turns errors of the server into `NotYet`, with the time to come again."""
    try:
        yield
    except Problem as problem:
        if problem.kind == "orderNotReady":  # it has gone on meanwhile
            raise NotYet("Pending", str(problem), SOON) from None
        if problem.kind == "rateLimited":
            raise NotYet("RateLimited", str(problem), problem.wait or AGAIN.total_seconds()) from None
        if problem.code >= 500:
            raise NotYet("ServerError", str(problem), problem.wait or 30.0) from None
        raise NotYet("Refused", str(problem), AGAIN.total_seconds()) from None
    except OSError as problem:
        raise NotYet("NoAnswer", f"the ACME server does not answer: {problem}", 30.0) from None


# -- the account -------------------------------------------------------------------------------------------------------


async def account_of(issuer: Issuer, ctx: sp.Context) -> Account:
    """The account of an issuer. Raises `NotYet`, `Unusable`."""
    assert issuer.spec.acme is not None
    name = issuer.spec.acme.secret_name
    secret = await ctx.get(Secret, name)
    if secret is None or not issuer.status.account:
        raise NotYet("NotRegistered", f"Issuer {issuer.name} has no account yet")
    return Account(issuer.spec.acme.server, pair_in(secret).key, issuer.status.account)


async def register(issuer: Issuer, ctx: sp.Context) -> None:
    """Makes the key of the account if there is none, and the account, which the server knows by its key. Raises
    `NotYet`, `Unusable`."""
    assert issuer.spec.acme is not None
    acme, name = issuer.spec.acme, issuer.spec.acme.secret_name
    secret = await ctx.get(Secret, name)
    if secret is None:
        secret = await ctx.create(Secret.named(name, data={"tls.key": new_key("ECDSA", 256)}, immutable=True))
    with translated_errors():
        account = Account(acme.server, pair_in(secret).key)
        issuer.status.account = await ctx.state(Acme).register(account, acme.contact)


# -- the order ---------------------------------------------------------------------------------------------------------


def identifiers_of(certificate: Certificate) -> list[Identifier]:
    """The names that the server has to be shown to be ours. Raises `Unusable`."""
    names = names_of(certificate)
    if names.is_ca:
        raise Unusable("an ACME server makes no authorities")
    dns = {name.lower() for name in (names.common_name, *names.dns) if name}
    if wild := [name for name in sorted(dns) if name.startswith("*.")]:
        raise Unusable(f"an ACME server does not believe over HTTP that {wild[0]} is ours")
    identifiers = {Identifier("dns", name) for name in dns} | {Identifier("ip", address) for address in names.addresses}
    return sorted(identifiers)


async def ordered(certificate: Certificate, issuer: Issuer, key: bytes, ctx: sp.Context) -> Pair:
    """The certificate that the server has issued. Raises `NotYet` until then, `Unusable`."""
    acme, now, status = ctx.state(Acme), ctx.now(), certificate.status
    account, placed = await account_of(issuer, ctx), status.order
    with translated_errors():
        if placed is None or placed.wanted != wanted(certificate) or placed.account != account.url:
            status.order = await place(certificate, account, ctx)
            raise NotYet("Pending", "the answers to the order's challenges are published", SOON)
        order = await existing_order(acme, account, placed)
        if order is not None and order.status == "pending":
            await answer(acme, account, order)
        if order is not None and order.status == "ready":
            order = await acme.finalize(account, order, request(key, names_of(certificate)))
        if order is not None and order.status == "valid":
            issued = await acme.certificate(account, order)
            if is_of(issued, key):
                return Pair(key, issued)
        elif order is not None and order.status in UNFINISHED:
            age = (now - placed.began).total_seconds()
            raise NotYet("Pending", f"the order is {order.status}", order.wait or min(max(age / 10, 3.0), 600.0))
        elif order is not None and (order.expires is None or order.expires > now):
            wait = (placed.began + AGAIN - now).total_seconds()
            if wait > 0:
                raise NotYet("Failed", await reason_of(acme, account, order), wait)
        status.order = None  # it is gone, was for another key, has expired, or has failed long ago
        raise NotYet("Pending", "the order can't be used any more; there is another one", SOON)


async def place(certificate: Certificate, account: Account, ctx: sp.Context) -> PlacedOrder:
    """An order for the certificate: the one that an earlier process has made, or a new one."""
    acme, identifiers = ctx.state(Acme), identifiers_of(certificate)
    await ctx.ensure_current()  # an old view would not show the order that is under way
    behind = await left_behind(certificate, account, identifiers, ctx)
    url, order = behind or await acme.new_order(account, identifiers)
    answers: dict[str, str] = {}
    for url_ in order.authorizations:
        challenge = (await acme.authorization(account, url_)).over_http()
        answers[challenge.token] = key_authorization(account, challenge.token)
    return PlacedOrder(url=url, account=account.url, wanted=wanted(certificate), began=ctx.now(), answers=answers)


async def left_behind(
    certificate: Certificate, account: Account, identifiers: list[Identifier], ctx: sp.Context
) -> tuple[str, Order] | None:
    """An unfinished order for these names that no Certificate knows of: the process died, or its answer was lost."""
    acme = ctx.state(Acme)
    for url in await acme.orders(account):
        if not ctx.lister(Certificate).keys(index=("order", url)):
            order = await acme.order(account, url)
            if order.status in UNFINISHED and sorted(order.identifiers) == identifiers:
                return url, order
    return None


async def existing_order(acme: Acme, account: Account, placed: PlacedOrder) -> Order | None:
    """The order as the server has it, None if it has none."""
    try:
        return await acme.order(account, placed.url)
    except Problem as problem:
        if problem.code in (403, 404):
            return None
        raise


async def answer(acme: Acme, account: Account, order: Order) -> None:
    """Tells the server that the answers are published. Telling it twice does no harm."""
    for url_ in order.authorizations:
        authorization = await acme.authorization(account, url_)
        if authorization.status == "pending" and (challenge := authorization.over_http()).status == "pending":
            await acme.answer(account, challenge)


async def reason_of(acme: Acme, account: Account, order: Order) -> str:
    """The reason for which an order has failed."""
    problems = [order.error.detail] if order.error is not None else []
    for url_ in order.authorizations:
        authorization = await acme.authorization(account, url_)
        errors = [challenge.error for challenge in authorization.challenges if challenge.error is not None]
        problems += [f"{authorization.identifier.value}: {error.detail}" for error in errors]
    return "; ".join(problems) or f"the order is {order.status}"
