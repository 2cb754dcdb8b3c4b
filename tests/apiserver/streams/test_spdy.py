"""SPDY frames: what a client sends comes out as events, in pieces of any size, and what is not SPDY is refused."""

from __future__ import annotations

import zlib
from random import Random

import pytest

from setpoint.apiserver.streams.spdy import DICTIONARY, Data, Frames, Headers, Ping, Reset, SpdyError


def headers(packer: zlib._Compress, stream: int, fields: dict[str, str], *, is_last: bool = False) -> bytes:
    """A SYN_STREAM as a client sends it."""
    plain = len(fields).to_bytes(4, "big")
    for name, value in fields.items():
        for text in (name.encode(), value.encode()):
            plain += len(text).to_bytes(4, "big") + text
    packed = packer.compress(plain) + packer.flush(zlib.Z_SYNC_FLUSH)
    body = stream.to_bytes(4, "big") + bytes(6) + packed
    return b"\x80\x03\x00\x01" + bytes((is_last,)) + len(body).to_bytes(3, "big") + body


def test_the_dictionary_is_that_of_the_specification() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_frames_are_read_in_pieces_of_any_size() -> None:
    packer = zlib.compressobj(zdict=DICTIONARY)
    sent = headers(packer, 1, {"Streamtype": "error", "port": "80"}, is_last=True)
    sent += headers(packer, 3, {"streamType": "data", "port": "80"})
    sent += Frames().data(3, b"hello") + Frames().data(3, b"", is_last=True)
    sent += b"\x80\x03\x00\x04\x00\x00\x00\x04" + bytes(4)  # settings
    sent += Frames().ping(7) + b"\x80\x03\x00\x03\x00\x00\x00\x08" + bytes((0, 0, 0, 3, 0, 0, 0, 5))
    for size in (1, 7, len(sent)):
        frames = Frames()
        events = [event for start in range(0, len(sent), size) for event in frames.feed(sent[start : start + size])]
        assert events == [
            Headers(1, {"streamtype": "error", "port": "80"}, True),
            Headers(3, {"streamtype": "data", "port": "80"}, False),
            Data(3, b"hello", False),
            Data(3, b"", True),
            Ping(7),
            Reset(3),
        ]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x80\x02\x00\x01\x00\x00\x00\x00",
        b"\x80\x03\x00\x01\x00\x00\x00\x0e" + bytes(14),
        headers(zlib.compressobj(zdict=DICTIONARY), 1, {"big": "x" * (2 << 20)}),
    ],
    ids=["version", "headers", "size"],
)
def test_what_is_not_spdy_is_refused(sent: bytes) -> None:
    with pytest.raises(SpdyError):
        list(Frames().feed(sent))


def test_a_frame_has_any_length_that_its_head_can_express() -> None:
    sent = b"\x00\x00\x00\x01\x00\xff\xff\xff" + bytes((1 << 24) - 1)
    assert list(Frames().feed(sent)) == [Data(1, bytes((1 << 24) - 1), False)]


def test_any_bytes_are_read_or_refused() -> None:
    random = Random(1)
    refused = 0
    for _ in range(500):
        sent = bytearray(random.randbytes(random.randrange(8, 60)))
        sent[0:2] = random.choice([b"\x80\x03", bytes(sent[0:2])])
        sent[5:8] = (len(sent) - 8).to_bytes(3, "big")
        try:
            list(Frames().feed(bytes(sent)))
        except SpdyError:
            refused += 1
    assert refused > 100
