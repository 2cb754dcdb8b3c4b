"""The suite can be run on another day: its processes take that for today (``make test-strange``)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wall_clock

AHEAD = Path(__file__).parent / "ahead"
DAY = 86400
WHAT_TIME = """
import datetime, email.utils, logging, os, subprocess, sys, time
seen = [
    time.time(),
    time.time_ns() / 1e9,
    datetime.datetime.now(datetime.UTC).timestamp(),
    datetime.datetime.combine(datetime.date.today(), datetime.datetime.now().time()).timestamp(),
    time.mktime(time.localtime()),
    logging.makeLogRecord({}).created,
    email.utils.parsedate_to_datetime(email.utils.formatdate()).timestamp(),
]
print(*seen)
"""
HANDSHAKE = """
import ssl, sys
from datetime import UTC, datetime, timedelta
from setpoint.webhook.certificate_authority import issue, make_authority
from setpoint.webhook.server_tls import ServerTls

def handshake(made, lifetime):
    authority = make_authority("test", now=made, lifetime=lifetime)
    server = ServerTls()
    server.use(issue(authority, ["localhost"], now=made, lifetime=lifetime))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    trust = ssl.create_default_context(cadata=authority.certificate.decode())
    sides = [
        trust.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.context.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(5):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
    return sides[0].version()

print(handshake(datetime.now(UTC), timedelta(hours=1)))
try:
    handshake(datetime.now(UTC) - timedelta(days=9), timedelta(days=8))
except ssl.SSLCertVerificationError as error:
    print(error.verify_message)
"""


def said(code: str, *, days: int) -> str:
    """The output of ``code`` with the clock ``days`` ahead."""
    path = os.pathsep.join(filter(None, [str(AHEAD), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "CLOCK_AHEAD": str(days)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_every_clock_is_ahead_by_as_much() -> None:
    today = [float(word) for word in said(WHAT_TIME, days=0).split()]
    later = [float(word) for word in said(WHAT_TIME, days=400).split()]
    assert [round((after - before) / DAY) for before, after in zip(today, later, strict=True)] == [400] * len(today)


def test_children_are_ahead_as_well() -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WHAT_TIME!r}], check=True)"
    alone, inherited = float(said(WHAT_TIME, days=41).split()[0]), float(said(child, days=41).split()[0])
    assert round((inherited - alone) / DAY) == 0


def test_certificates_are_valid_by_the_clock_that_is_ahead() -> None:
    assert said(HANDSHAKE, days=400).splitlines() == ["TLSv1.3", "certificate has expired"]
