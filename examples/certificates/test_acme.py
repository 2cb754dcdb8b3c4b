"""The tests of certificates by an ACME server: the server is a fake that checks what a real one checks, and has its
moods; it is a system outside of the cluster, which fails as such systems do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import pytest
from acme import Acme, Reply, Signed
from acmeorders import UNFINISHED
from certificates import controllers
from certkinds import AcmeServer, Certificate, CertificateSpec, Issuer, IssuerRef, IssuerSpec
from certsecrets import pair_in
from cryptography import x509
from fakeacme import FakeAcme
from signing import chain, checked, is_signed_by

import setpoint as sp
from setpoint.models.core_v1 import Secret
from setpoint.models.events_v1 import Event
from setpoint.testing.virtual_clock import EPOCH

SHORT = timedelta(hours=9)
ACME = IssuerSpec(acme=AcmeServer(server="https://acme.test/directory", secret_name="account"))


COUNTS = {
    "certificates.certs.example.com status.revision": "counts the certificates on the way",
    "secrets metadata.annotations.certs.example.com/revision": "counts the certificates on the way",
}


def start() -> datetime:
    return EPOCH


def issuer() -> Issuer:
    return Issuer.named("acme", "default", spec=ACME)


def web(*names: str, **spec: Any) -> Certificate:
    wanted = CertificateSpec(
        secret_name="web-tls", issuer_ref=IssuerRef(name="acme"), dns_names=[*names] or ["web.example.org"], **spec
    )
    return Certificate.named("web", "default", spec=wanted)


def using(fake: FakeAcme) -> Any:
    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Acme]:
        yield Acme(fake)

    return lifespan


def visible(fake: FakeAcme, cluster: sp.testing.Cluster) -> None:
    """From here on, the fake has the cluster's time, and sees what the program answers: the status of Certificates."""

    async def look(host: str, token: str) -> str:
        for certificate in await cluster.list(Certificate):
            if (
                certificate.status.order is not None
                and host in certificate.spec.dns_names
                and token in certificate.status.order.answers
            ):
                return certificate.status.order.answers[token]
        return ""

    fake.look, fake.now = look, cluster.now


@asynccontextmanager
async def running(fake: FakeAcme, *objects: sp.Object) -> AsyncGenerator[sp.testing.Cluster]:
    plane = ["garbage-collector"]
    cluster = sp.testing.cluster(*controllers, objects=objects, control_plane=plane, nodes=0, lifespan=using(fake))
    async with cluster as entered:
        visible(fake, entered)
        yield entered


async def certificate_of(cluster: sp.testing.Cluster, name: str = "web-tls") -> x509.Certificate:
    """The certificate in a Secret; its key belongs to it."""
    return checked(pair_in(await cluster.get(Secret, name)))


async def condition_of(cluster: sp.testing.Cluster, type: str) -> tuple[str, str, str]:
    conditions = (await cluster.get(Certificate, "web")).status.conditions
    (condition,) = [condition for condition in conditions if condition.type == type]
    return condition.status, condition.reason, condition.message


async def is_ready(cluster: sp.testing.Cluster) -> bool:
    conditions = (await cluster.get(Certificate, "web")).status.conditions
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


def names(certificate: x509.Certificate) -> list[str]:
    return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(
        x509.DNSName
    )


@sp.testing.virtual_time
async def test_a_certificate_is_ordered_proven_and_stored_with_its_chain() -> None:
    fake = FakeAcme(start)
    async with running(fake, issuer(), web("web.example.org", "www.example.org")) as cluster:
        await sp.testing.advance(30)
        certificate = await certificate_of(cluster)
        assert names(certificate) == ["web.example.org", "www.example.org"]
        above = chain(pair_in(await cluster.get(Secret, "web-tls")).certificate)[1]
        assert is_signed_by(certificate, above)
        assert (await condition_of(cluster, "Ready"))[:2] == ("True", "Issued")
        assert fake.count == 1
        assert (await cluster.get(Certificate, "web")).status.order is None
        assert sorted(secret.name for secret in await cluster.list(Secret)) == ["account", "web-tls"]


@sp.testing.virtual_time
async def test_a_certificate_is_renewed_in_time_with_another_key_and_is_ready_all_the_while() -> None:
    fake = FakeAcme(start)
    fake.life = SHORT
    async with running(fake, issuer(), web()) as cluster:
        await sp.testing.advance(30)
        first = await certificate_of(cluster)
        await sp.testing.advance(5.9 * 3600)
        assert await certificate_of(cluster) == first
        for _ in range(30):
            await sp.testing.advance(60)
            assert (await condition_of(cluster, "Ready"))[0] == "True"
        second = await certificate_of(cluster)
        assert second.public_key() != first.public_key()
        assert fake.count == 2
        await sp.testing.advance(24 * 3600)
        assert (await condition_of(cluster, "Ready"))[0] == "True"
        assert (await certificate_of(cluster)).not_valid_after_utc > cluster.now() + timedelta(hours=2)


@sp.testing.virtual_time
async def test_lost_answers_old_nonces_and_busy_servers_lead_to_one_order_and_one_certificate() -> None:
    days = [[*[""] * place, "lost"] for place in range(0, 14, 2)]
    days += [["badNonce", ""] * 20, ["serverInternal", ""] * 20, ["", "refused"] * 20]
    for moods in days:
        fake = FakeAcme(start)
        fake.moods = [*moods]
        async with running(fake, issuer(), web()) as cluster:
            await cluster.until(partial(is_ready, cluster), within=900)
            assert names(await certificate_of(cluster)) == ["web.example.org"]
            assert fake.count == 1, f"{moods}: the order was found again"
            assert len(fake.accounts) == 1


@sp.testing.virtual_time
async def test_an_order_whose_url_went_with_the_process_is_found_again() -> None:
    fake = FakeAcme(start)
    fake.validation = timedelta(seconds=60)
    async with running(fake, issuer(), web()) as cluster:
        await sp.testing.advance(10)
        placed = (await cluster.get(Certificate, "web")).status.order
        assert placed is not None
        await cluster.client.patch(Certificate, "web", {"status": {"order": None}}, subresource="status")
        await sp.testing.advance(10)
        again = (await cluster.get(Certificate, "web")).status.order
        assert again is not None
        assert (again.url, again.answers) == (placed.url, placed.answers)
        await cluster.until(lambda: is_ready(cluster))
        assert fake.count == 1


@sp.testing.virtual_time
async def test_two_certificates_for_the_same_names_have_an_order_each() -> None:
    fake = FakeAcme(start)
    spec = CertificateSpec(secret_name="other-tls", issuer_ref=IssuerRef(name="acme"), dns_names=["web.example.org"])
    async with running(fake, issuer(), web(), Certificate.named("other", "default", spec=spec)) as cluster:
        await sp.testing.advance(60)
        assert await certificate_of(cluster) != await certificate_of(cluster, "other-tls")


@sp.testing.virtual_time
async def test_an_order_that_expires_makes_room_for_another_one() -> None:
    fake = FakeAcme(start)
    fake.validation, fake.expires = timedelta(hours=10), timedelta(hours=2)
    async with running(fake, issuer(), web()) as cluster:
        await sp.testing.advance(3600)
        assert (await condition_of(cluster, "Issuing"))[:2] == ("True", "Pending")
        fake.validation = timedelta(seconds=2)
        for authorization in fake.authorizations.values():
            authorization["asked"] = cluster.now() + timedelta(days=1)  # the server has lost sight of them
        await cluster.until(lambda: is_ready(cluster), within=3 * 3600)
        assert fake.count == 2


@sp.testing.virtual_time
async def test_a_name_that_can_not_be_proven_is_told_and_tried_again_an_hour_later() -> None:
    fake = FakeAcme(start)
    async with running(fake, issuer(), web()) as cluster:
        look, fake.look = fake.look, FakeAcme(start).look
        await sp.testing.advance(60)
        status, reason, message = await condition_of(cluster, "Issuing")
        assert (status, reason) == ("True", "Failed")
        assert message == "web.example.org: web.example.org can't be reached"
        await sp.testing.advance(3000)
        assert fake.count == 1
        fake.look = look
        await sp.testing.advance(1200)
        assert fake.count == 2
        assert (await condition_of(cluster, "Ready"))[0] == "True"


@sp.testing.virtual_time
async def test_a_server_that_asks_for_patience_gets_it() -> None:
    fake = FakeAcme(start)
    fake.limit = 1
    async with running(fake, issuer(), web()) as cluster:
        await sp.testing.advance(60)
        await cluster.apply(web("www.example.org"))
        await sp.testing.advance(60)
        assert (await condition_of(cluster, "Issuing"))[1] == "RateLimited"
        requests = fake.requests
        await sp.testing.advance(3300)
        assert fake.requests == requests, "not before the time that it named"
        await sp.testing.advance(600)
        assert names(await certificate_of(cluster)) == ["www.example.org"]


@sp.testing.virtual_time
async def test_a_certificate_that_takes_long_is_looked_for_when_the_server_says() -> None:
    fake = FakeAcme(start)
    fake.processing = timedelta(minutes=10)
    async with running(fake, issuer(), web()) as cluster:
        await sp.testing.advance(60)
        assert await condition_of(cluster, "Issuing") == ("True", "Pending", "the order is processing")
        requests = fake.requests
        await sp.testing.advance(400)
        assert fake.requests == requests
        await sp.testing.advance(200)
        assert (await condition_of(cluster, "Ready"))[0] == "True"


@sp.testing.virtual_time
async def test_another_spec_leaves_the_order_that_is_under_way_and_names_that_are_refused_are_told() -> None:
    fake = FakeAcme(start)
    fake.validation = timedelta(seconds=60)
    async with running(fake, issuer(), web()) as cluster:
        await sp.testing.advance(10)
        await cluster.apply(web("other.invalid"))
        await sp.testing.advance(10)
        status, reason, message = await condition_of(cluster, "Issuing")
        assert (status, reason) == ("True", "Refused")
        assert message == "no certificates are issued for other.invalid (rejectedIdentifier, status 400)"
        await cluster.apply(web("*.example.org"))
        await cluster.settle()
        assert "over HTTP" in (await condition_of(cluster, "Issuing"))[2]
        await cluster.apply(web("other.example.org"))
        await cluster.until(lambda: is_ready(cluster))
        assert names(await certificate_of(cluster)) == ["other.example.org"]


@sp.testing.virtual_time
async def test_an_account_whose_key_is_lost_is_followed_by_another_one() -> None:
    fake = FakeAcme(start)
    fake.validation = timedelta(seconds=60)
    async with running(fake, issuer(), web()) as cluster:
        await sp.testing.advance(10)
        await cluster.delete(await cluster.get(Secret, "account"))
        await cluster.until(lambda: is_ready(cluster), within=3 * 3600)
        assert len(fake.accounts) == 2


@sp.testing.virtual_time
async def test_no_private_key_is_in_logs_events_statuses_or_requests(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    class Heard(FakeAcme):
        bodies = ""

        async def request(self, method: str, url: str, body: Signed | None = None) -> Reply:
            self.bodies += f"{method} {url} {body} {msgspec.json.encode(body).decode()}\n"
            return await super().request(method, url, body)

    fake = Heard(start)
    fake.moods = ["", "serverInternal", "", "lost", "", "badNonce", "refused"]
    keys: set[bytes] = set()
    async with running(fake, issuer(), web()) as cluster:
        for _ in range(60):
            await sp.testing.advance(5)
            for secret in await cluster.list(Secret):
                if pem := secret.data.get("tls.key"):
                    keys.add(pem)
                    texts = [repr(certificate.status) for certificate in await cluster.list(Certificate)]
                    texts += [repr(issuer.status) for issuer in await cluster.list(Issuer)]
                    texts += [event.note or "" for event in await cluster.list(Event)]
                    output = "\n".join([caplog.text, fake.bodies, *texts])
                    for line in pem.decode().splitlines()[1:-1]:
                        assert line not in output
        assert await is_ready(cluster)
        assert len(keys) == 2, "the account's and the certificate's"


# -- the simulation ----------------------------------------------------------------------------------------------------


class Provider(sp.simulation.External, FakeAcme):
    """The server, behind a network. Some of its nonces are old, and at times it is busy, as those of Pebble are."""

    @sp.simulation.call
    async def request(self, method: str, url: str, body: Signed | None = None) -> Reply:
        return await FakeAcme.request(self, method, url, body)

    def state(self) -> dict[str, Any]:
        """The number of accounts. Those of requests, orders and certificates depend on the faults."""
        return {"accounts": len(self.accounts)}


async def scenario(provider: Provider, cluster: sp.testing.Cluster) -> None:
    visible(provider, cluster)
    try:
        await use(cluster)
    finally:
        provider.every = {}  # its moods end with the faults: after them, nothing may be written any more


async def use(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(issuer())
    await cluster.apply(web())
    await cluster.until(lambda: has(cluster, "web.example.org"))
    await cluster.apply(web("other.example.org"))
    await cluster.until(lambda: has(cluster, "other.example.org"))
    await cluster.delete(await cluster.get(Certificate, "web"))
    await cluster.settle()


async def has(cluster: sp.testing.Cluster, name: str) -> bool:
    secret = await cluster.find(Secret, "web-tls")
    return secret is not None and names(checked(pair_in(secret))) == [name]


def at_most_one_order(provider: Provider) -> bool:
    """Whether of the orders that are under way no two are for the same names."""
    under_way = [
        str(order["identifiers"]) for url, order in provider.orders.items() if provider.status(url) in UNFINISHED
    ]
    return len(under_way) == len(set(under_way))


def simulated(
    budget: sp.simulation.Budget, *, off: dict[str, str] | None = None, **options: Any
) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    provider = Provider(start)
    provider.every = {7: "badNonce", 11: "serverInternal"}
    return sp.simulation.check(
        partial(scenario, provider),
        lambda: [*controllers],
        control_plane=["garbage-collector"],
        lifespan=using(provider),
        externals=[provider],
        predicates=[
            sp.simulation.always(lambda _objects: at_most_one_order(provider), "no order is made twice"),
        ],
        budget=budget,
        off={"determinism": "OpenSSL draws keys and signatures"} | (off or {}),
        ignore=COUNTS,
        **options,
    )


BUSY_IN_THE_END = (
    "sp1-eNoVjUEOgjAQAL9C1gOaIAS5aD-BCd6Mh7VdpLG2tV30QPi763VmkllAg4ITdW13NO3pDhV4AePsNYfgsoqY2KITHkEtMOLsOIO6LvC03kiqE-Zp"
    "jyNTkgj5j9C5IqbwsYZSneg9U-Ztee6HS1kV5cQcs2oa1C-qWVTj6dsnacUO9uHJ7IpNC-utgsxBvod1_QHdojbC"
)
"""The plan: a crash behind an order, after which the server, if it keeps its moods, is too busy for the first request
when the faults are over."""


@pytest.mark.long
def test_what_the_server_refuses_when_all_faults_are_over_is_not_held_against_the_operator() -> None:
    simulated(sp.simulation.Budget(), workers=0, replay=BUSY_IN_THE_END)
