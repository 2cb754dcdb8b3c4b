"""The recorded requests that the embedded server answers differently, by kind, with the reason; lines count from 0.

A line in this list whose answer has become the same fails the test: it is to be taken off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

TOO_STRICT: Final = "required by the published schema, not by the real server"
CAUSES: Final = "refused, too, but for other fields, in other words, or not for all that is wrong"
CODE: Final = "refused with another code"
OBJECT: Final = "defaults or fields that the server sets"
TOKENS: Final = "the volume with the service account's token, which an admission plugin adds to pods"

KNOWN: Final[Mapping[tuple[str, str], Sequence[int]]] = {
    ("APIService", OBJECT): (236, 400),
    ("CSIDriver", CAUSES): (639,),
    ("FlowSchema", OBJECT): (48,),
    ("NetworkPolicy", OBJECT): (546,),
    ("PersistentVolume", CAUSES): (673,),
}
