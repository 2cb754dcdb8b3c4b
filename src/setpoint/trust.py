"""Certificates as Go reads and trusts them (``encoding/pem``, ``crypto/x509``), for every place that reads any.

Kubernetes and kubectl are written in Go, so users have the certificates that Go accepts.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_BLOCK: Final = re.compile(
    rb"^-----BEGIN CERTIFICATE-----[ \t\r]*\n([A-Za-z0-9+/= \t\r\n]*)^-----END CERTIFICATE-----[ \t\r]*$", re.MULTILINE
)
_MARK: Final = b"\xef\xbb\xbf"


def without_mark(pem: bytes) -> bytes:
    """``pem`` without the byte order mark that some editors put before the first line, where it would hide a block."""
    return pem.removeprefix(_MARK)


def certificates_in(pem: bytes) -> list[bytes]:
    """The certificates of a PEM text, in DER. Everything else is skipped: text between the blocks, in any encoding,
    blocks of other types or with headers, and blocks that are not base64.
    """
    certificates = []
    for block in _BLOCK.finditer(without_mark(pem)):
        try:
            certificates.append(base64.b64decode(b"".join(block[1].split()), validate=True))
        except binascii.Error:
            continue
    return certificates


def certificates_only(pem: bytes) -> bytes:
    """The certificates of a PEM text as a PEM text that has nothing else: no key, and no text between the blocks, which
    may be in any encoding. Such texts can be joined, and are ASCII.
    """
    return "".join(map(ssl.DER_cert_to_PEM_cert, certificates_in(pem))).encode()


@contextmanager
def pem_file(pem: bytes) -> Iterator[str]:
    """The name of a file with ``pem``, because the ssl module loads keys only from files; it is gone when the block
    ends. On Linux it is memory of this process (memfd_create(2)), so that a key is never on a disk and no folder has to
    be writable; elsewhere, or without ``/proc``, it is a temporary file that only its owner can read.

    Raises:
        OSError: a temporary file is needed and can't be written.
    """
    if sys.platform == "linux" and os.path.isdir("/proc/self/fd"):
        with os.fdopen(os.memfd_create("setpoint"), "wb") as file:
            file.write(pem)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    import tempfile

    handle, name = tempfile.mkstemp(prefix="setpoint-", suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pem)
        yield name
    finally:
        os.unlink(name)


def trust(context: ssl.SSLContext, pem: bytes) -> None:
    """Makes ``context`` trust the certificates of a PEM text. Each of them is an anchor: a root, an intermediate
    authority, or the other side's own certificate. Those that can't be read are skipped.

    Raises:
        ValueError: there is no usable certificate.
    """
    count = 0
    for der in certificates_in(pem):
        try:
            context.load_verify_locations(cadata=der)
        except ssl.SSLError:
            continue
        count += 1
    if not count:
        raise ValueError("it contains no usable PEM certificate")
    _loosen(context)


def client_context(pem: bytes | None = None) -> ssl.SSLContext:
    """A context for clients, like that of `ssl.create_default_context`, that trusts the certificates of a PEM text
    (see `trust`), or the system's roots if there is none.

    Raises:
        ValueError: the text contains no usable certificate.
    """
    if pem is None:
        context = ssl.create_default_context()
        _loosen(context)
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust(context, pem)
    if keys := os.environ.get("SSLKEYLOGFILE"):  # as in ssl.create_default_context
        context.keylog_filename = keys
    return context


def _loosen(context: ssl.SSLContext) -> None:
    """Makes the context no stricter than Go: every trusted certificate ends a chain (in Python only since 3.13), and
    the extensions that Python has required since 3.13, such as an authority key identifier, may be missing. Kubernetes'
    own certificates lack them.
    """
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
