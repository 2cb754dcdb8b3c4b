"""Certificates over years, in virtual time: nothing that is served is ever not trusted."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.tasks import stop

from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport, TransportError
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from setpoint.models.core_v1 import Namespace, Secret
from setpoint.testing import advance, now, virtual_time, wait_all_tasks_blocked
from setpoint.webhook import (
    CertificateError,
    CertificateFiles,
    MemoryCertificates,
    Rotation,
    SecretCertificates,
    ServiceTarget,
    Webhooks,
    install,
    service_names,
    trusting,
)
from setpoint.webhook.certificate_authority import Pair, facts_of, issue, make_authority, matches, signed_by, split
from setpoint.webhook.certificate_rotation import CertificateState, step

from .mykind import mykind_admission

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = service_names("mykind", "system")
DAY = 24 * 3600.0
SHORT = Rotation(
    authority_lifetime=timedelta(days=20),
    serving_lifetime=timedelta(days=5),
    overlap=timedelta(hours=1),
    check_every=timedelta(minutes=10),
)


def trusts(bundle: bytes, pair: Pair) -> bool:
    return any(signed_by(pair.certificate, authority) for authority in split(bundle))


def test_a_new_certificate_is_good_for_tls() -> None:
    kept = step(None, NAMES, Rotation(), START, name="x", in_force=False)
    facts = facts_of(kept.serving.certificate)
    assert facts.names == set(NAMES)
    assert facts.issued_at == START
    assert facts.not_after == START + timedelta(days=90)
    assert matches(kept.serving)
    assert trusts(kept.bundle, kept.serving)
    assert step(kept, NAMES, Rotation(), START, name="x", in_force=False) is kept


def test_other_names_are_a_new_certificate_of_the_same_authority() -> None:
    kept = step(None, NAMES, Rotation(), START, name="x", in_force=True)
    moved = step(kept, ["10.0.0.1", "example.com"], Rotation(), START + timedelta(hours=3), name="x", in_force=True)
    assert moved.authorities == kept.authorities
    assert facts_of(moved.serving.certificate).names == {"10.0.0.1", "example.com"}


@pytest.mark.parametrize("part", ["authority", "authority key", "serving", "serving key", "other authority"])
def test_what_is_damaged_is_made_anew(part: str) -> None:
    kept = step(None, NAMES, Rotation(), START, name="x", in_force=True)
    (authority,), serving = kept.authorities, kept.serving
    other = make_authority("y", now=START, lifetime=timedelta(days=9))
    bad = {
        "authority": CertificateState((Pair(b"junk", authority.key),), serving),
        "authority key": CertificateState((Pair(authority.certificate, other.key),), serving),
        "serving": CertificateState((authority,), Pair(b"", serving.key)),
        "serving key": CertificateState((authority,), Pair(serving.certificate, other.key)),
        "other authority": CertificateState((other,), serving),
    }[part]
    fresh = step(bad, NAMES, Rotation(), START, name="x", in_force=True)
    assert matches(fresh.serving)
    assert trusts(fresh.bundle, fresh.serving)
    assert fresh.serving != serving


@settings(max_examples=12, deadline=None)
@example([(1.0, False), (1.0, False), (5.0, False), (6.0, False), (6.0, False)])
@given(st.lists(st.tuples(st.floats(0.01, 6), st.booleans()), min_size=3, max_size=8))
def test_callers_and_replicas_that_are_an_overlap_late_get_along(turns: list[tuple[float, bool]]) -> None:
    time = START
    kept = step(None, NAMES, SHORT, time, name="x", in_force=False)
    history = [(time, kept)]
    for days, in_force in turns:
        time += timedelta(days=days)
        for _ in range(5):
            kept = step(kept, NAMES, SHORT, time, name="x", in_force=in_force)
            history.append((time, kept))
            for _, old in (entry for entry in history if time - entry[0] <= SHORT.overlap):
                assert trusts(old.bundle, kept.serving)
                assert trusts(kept.bundle, old.serving)
            assert facts_of(kept.serving.certificate).not_after > time + SHORT.overlap
            time += timedelta(minutes=20)
    assert len(kept.authorities) <= 3


def test_an_overlap_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="serving_lifetime of 1:00:00 is too short for an overlap of 1:00:00"):
        Rotation(serving_lifetime=timedelta(hours=1))


@asynccontextmanager
async def api() -> AsyncIterator[Client]:
    async with ApiServer(now=now) as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(Namespace.named("system"))
        yield client


@asynccontextmanager
async def running(*sources: Any) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(source.run()) for source in sources]
    try:
        await wait_all_tasks_blocked()
        yield
    finally:
        await stop(*tasks)


def replica(client: Client, **options: Any) -> SecretCertificates:
    options = {"names": NAMES, "rotation": SHORT, "now": now, **options}
    return SecretCertificates(client, "mykind-tls", "system", **options)


@virtual_time
async def test_all_replicas_serve_what_one_of_them_made() -> None:
    async with api() as client:
        replicas = [replica(client) for _ in range(5)]
        async with running(*replicas):
            assert len({source.bundle for source in replicas}) == 1
            assert len({source.current for source in replicas}) == 1
            secret = await client.get(Secret, "mykind-tls", namespace="system")
            assert secret.type == "kubernetes.io/tls"
            assert sorted(secret.data) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
            assert secret.data["ca.crt"] == replicas[0].bundle


@virtual_time
async def test_over_months_every_certificate_is_trusted_by_the_configuration_of_that_moment() -> None:
    webhooks = Webhooks(mykind_admission())
    async with api() as client:
        lasting = Rotation(
            authority_lifetime=timedelta(days=20),
            serving_lifetime=timedelta(days=5),
            overlap=timedelta(hours=3),
            check_every=timedelta(hours=2),
        )
        replicas = [replica(client, trusting=trusting(webhooks, "mykind"), rotation=lasting) for _ in range(2)]
        async with running(*replicas):
            target = ServiceTarget("mykind", "system")
            await install(client, webhooks, "mykind", target, bundle=replicas[0].bundle)
            bundles, served = set(), set()
            for _ in range(40 * 8):
                await advance(DAY / 8)
                for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
                    configuration = await client.get(kind, "mykind")
                    bundle = configuration.webhooks[0].client_config.ca_bundle
                    assert bundle is not None
                    for source in replicas:
                        assert source.current is not None
                        assert trusts(bundle, source.current)
                        assert facts_of(source.current.certificate).not_after > now() + timedelta(days=1)
                        served.add(source.current)
                    bundles.add(bundle)
            assert 3 <= len({split(bundle)[0] for bundle in bundles}) <= 4  # 40 days, one each 13.3
            assert 10 <= len(served) <= 18
            assert max(len(split(bundle)) for bundle in bundles) == 2


@virtual_time
async def test_a_restart_in_the_middle_of_a_change_of_authority_goes_on_from_there() -> None:
    # No serving certificate is due while the authorities change, on the thirteenth day.
    options = {"rotation": replace(SHORT, serving_lifetime=timedelta(days=12))}
    async with api() as client:
        async with running(first := replica(client, **options)):
            await advance(13.36 * DAY)
            assert len(split(first.bundle)) == 2
            before = first.current
        async with running(second := replica(client, **options)):
            assert second.current == before
            assert second.bundle == first.bundle
            await advance(DAY)
            assert len(split(second.bundle)) == 1
            assert second.current != before


@virtual_time
async def test_the_last_certificate_is_served_while_the_api_server_is_away() -> None:
    class Flaky(InProcessTransport):
        away = False

        def send(self, request: Any) -> Any:
            if self.away:
                raise TransportError("nobody there", sent=False)
            return super().send(request)

    async with ApiServer(now=now) as server:
        transport = Flaky(server.handle)
        async with Client(transport) as client:
            await client.create(Namespace.named("system"))
            transport.away = True
            source = replica(client)
            async with running(source):
                await advance(30)
                assert source.current is None
                transport.away = False
                await advance(60)
                first = source.current
                assert first is not None
                transport.away = True
                await advance(4 * DAY)
                assert source.current == first
                transport.away = False
                await advance(700)
                assert source.current != first


@virtual_time
async def test_a_secret_of_somebody_else_is_left_alone() -> None:
    async with api() as client:
        data = {"tls.crt": b"theirs", "tls.key": b"theirs"}
        await client.create(Secret.named("mykind-tls", "system", type="kubernetes.io/tls", data=data))
        with pytest.raises(CertificateError, match=r"system/mykind-tls holds a certificate that another program made"):
            await replica(client).check()


@virtual_time
async def test_an_empty_secret_made_beforehand_is_filled() -> None:
    async with api() as client:
        await client.create(Secret.named("mykind-tls", "system"))
        source = replica(client)
        await source.check()
        assert (await client.get(Secret, "mykind-tls", namespace="system")).data["ca.crt"] == source.bundle


@virtual_time
async def test_files_are_read_again_when_they_fit_together(tmp_path: Path) -> None:
    authority = make_authority("x", now=START, lifetime=timedelta(days=30))
    one, two = (issue(authority, ["localhost"], now=START, lifetime=timedelta(days=3)) for _ in range(2))
    source = CertificateFiles(tmp_path)
    with pytest.raises(CertificateError, match=r"tls\.crt: No such file"):
        await source.run()
    (tmp_path / "tls.crt").write_bytes(one.certificate)
    (tmp_path / "tls.key").write_bytes(one.key)
    seen: list[Pair] = []
    source.on_change(seen.append)
    async with running(source):
        assert seen == [one]
        (tmp_path / "tls.key").write_bytes(two.key)
        await advance(10)
        assert source.current == one  # half of it is new: certificate and key don't fit
        (tmp_path / "tls.crt").write_bytes(two.certificate)
        await advance(10)
        assert seen == [one, two]
        assert source.metrics.certificate_read_errors == 2
        assert source.metrics.certificate_reads == 3


@virtual_time
async def test_memory_rotates_and_tells_whom_to_trust() -> None:
    bundles: list[bytes] = []
    source = MemoryCertificates(
        rotation=replace(SHORT, check_every=timedelta(hours=1)), now=now, on_bundle=bundles.append
    )
    async with running(source):
        for _ in range(60):
            assert source.current is not None
            assert trusts(bundles[-1], source.current)
            await advance(DAY / 2)
    assert len(bundles) >= 4
    ssl.create_default_context(cadata=bundles[-1].decode())
