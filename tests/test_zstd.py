"""Both libraries of zstd do the same; which one runs is decided by the version of Python alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from setpoint.zstd import Library, Package, Standard

LIBRARIES = [Standard, Package] if sys.version_info < (3, 14) else [Standard]


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Library:
    return request.param()


def documents(count: int) -> list[bytes]:
    draw = random.Random(1)
    return [
        json.dumps(
            {"kind": "Pod", "uid": f"{draw.getrandbits(128):032x}", "spec": {"image": "example.com/a:1"}}
        ).encode()
        * 4
        for _ in range(count)
    ]


def test_a_document_comes_back_and_what_follows_is_ignored(library: Library) -> None:
    for document in (b"", b"a", b"a" * 300_000, random.Random(1).randbytes(5000), *documents(3)):
        codec = library.codec()
        small = codec.compress(document)
        assert not small.startswith(b"\x28\xb5\x2f\xfd")
        assert codec.decompress(small) == codec.decompress(small + b"trailer") == document


def test_a_document_that_is_cut_off_is_an_error(library: Library) -> None:
    for dictionary in (None, *library.dictionaries(documents(150), 8192)):
        codec = library.codec(dictionary)
        small = codec.compress(documents(200)[199])
        for length in range(len(small)):
            with pytest.raises(Exception, match=r"error determining|cut off|decompress") as refusal:
                codec.decompress(small[:length])
            assert type(refusal.value).__name__ == "ZstdError"


def test_dictionaries_make_similar_documents_small(library: Library) -> None:
    samples = documents(200)
    dictionaries = list(library.dictionaries(samples[:150], 8192))
    assert dictionaries
    plain = len(library.codec().compress(samples[199]))
    for dictionary in dictionaries:
        codec = library.codec(dictionary)
        small = codec.compress(samples[199])
        assert len(small) < plain * 0.6
        assert codec.decompress(small) == samples[199]


def test_all_of_a_large_dictionary_is_used(library: Library) -> None:
    kinds = [random.Random(seed).randbytes(3000).hex().encode() for seed in range(16)]
    samples = [b"%d %b" % (number, kinds[number % 16]) for number in range(120)]
    plain = len(library.codec().compress(samples[0]))
    for dictionary in library.dictionaries(samples, 112 * 1024):
        codec = library.codec(dictionary)
        assert sum(len(codec.compress(sample)) for sample in samples[-16:]) / 16 < plain / 10


def test_samples_without_anything_in_common_make_no_unusable_dictionary(library: Library) -> None:
    samples = [random.Random(seed).randbytes(2000) for seed in range(4)]
    for dictionary in library.dictionaries(samples, 2000):
        codec = library.codec(dictionary)
        assert codec.decompress(codec.compress(samples[0])) == samples[0]
    assert list(library.dictionaries([b"a"] * 4, 1024)) == []


@pytest.mark.skipif(len(LIBRARIES) == 1, reason="there is one library from Python 3.14 on")
def test_each_library_reads_the_frames_of_the_other() -> None:
    samples = documents(200)
    for one, other in ((Package(), Standard()), (Standard(), Package())):
        for dictionary in (None, *one.dictionaries(samples, 8192)):
            assert other.codec(dictionary).decompress(one.codec(dictionary).compress(samples[0])) == samples[0]


def test_a_python_without_zstd_is_named_with_the_remedy() -> None:
    code = """
import sys
sys.version_info = (3, 14, 0, "final", 0)
sys.modules["compression"] = sys.modules["compression.zstd"] = None
import setpoint.zstd
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "this Python was built without zstd" in ended.stderr.splitlines()[-1]
    assert "libzstd" in ended.stderr.splitlines()[-1]
