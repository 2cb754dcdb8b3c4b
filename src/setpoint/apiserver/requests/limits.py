"""Limits on the form of requests, checked before anything else: their size and their characters.

Any part of a request may end up in objects, responses and logs, so it must be text that can be encoded again. Path,
query and headers together have a maximum size.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from setpoint.apiserver.errors import bad_request, request_entity_too_large
from setpoint.apiserver.http_types import IncomingRequest

MAX_HEAD: Final = 1 << 20
"""The maximum number of characters in path, query and headers together; Go's servers have the same limit, but in
bytes.
"""


def check(request: IncomingRequest) -> None:
    """Checks the form of a request. Raises ApiStatusError: 400 for text that is not Unicode, 413 if path, query and
    headers together are too large.
    """
    headers, query = request.headers, request.query
    text = "".join(chain((request.method, request.path), headers, headers.values(), *query))
    if len(text) > MAX_HEAD:
        raise request_entity_too_large(f"path, query and headers may have {MAX_HEAD} characters")
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad_request("the request's path, query or headers are not valid UTF-8") from None
