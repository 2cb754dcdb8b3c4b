"""Puts every Python process that has this folder in PYTHONPATH, and its children, CLOCK_AHEAD days into the future.

Python imports this module when it starts (see ``site``). Time goes on; the monotonic clock, and with it every event
loop, is left alone. OpenSSL reads the system's clock by itself: each connection is told the time there.
"""

from __future__ import annotations

import _ssl
import ctypes
import os
import ssl
import sys
import time
from datetime import timedelta
from functools import wraps
from typing import Any

__all__: list[str] = []


def _time_machine() -> Any:
    """The library without pytest, which it loads where that is installed: programs behave otherwise beside it."""
    sys.modules["pytest"] = None  # type: ignore[assignment]
    try:
        import time_machine
    finally:
        del sys.modules["pytest"]
    return time_machine


def _ahead(days: float) -> None:
    _time_machine().travel(timedelta(days=days)).start()
    time.time()  # it goes on from the first look at it

    openssl = ctypes.PyDLL(_ssl.__file__)  # what that is linked with is found, too
    openssl.SSL_CTX_get0_param.restype = ctypes.c_void_p
    openssl.SSL_CTX_get0_param.argtypes = [ctypes.c_void_p]
    openssl.X509_VERIFY_PARAM_set_time.restype = None
    openssl.X509_VERIFY_PARAM_set_time.argtypes = [ctypes.c_void_p, ctypes.c_long]

    def tell(context: ssl.SSLContext) -> None:
        """The first field of CPython's object is its SSL_CTX; a connection starts with its context's parameters."""
        pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
        openssl.X509_VERIFY_PARAM_set_time(openssl.SSL_CTX_get0_param(pointer), int(time.time()))

    def told(connect: Any) -> Any:
        @wraps(connect)
        def connected(context: ssl.SSLContext, *args: Any, **options: Any) -> Any:
            tell(context)
            return connect(context, *args, **options)

        return connected

    ssl.SSLContext.wrap_bio = told(ssl.SSLContext.wrap_bio)  # type: ignore[method-assign]
    ssl.SSLContext.wrap_socket = told(ssl.SSLContext.wrap_socket)  # type: ignore[method-assign]


if days := os.environ.get("CLOCK_AHEAD"):
    _ahead(float(days))
