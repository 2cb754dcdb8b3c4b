"""The known differences of the embedded server's answers, request by request of each script, with the reason.

A request in this list whose answer has become the same fails the test: it is to be taken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WORDS: Final = "the same refusal of the same field, in other words or in another order"
ANSWERS: Final = "answers of a cluster: its address, its administrators, its audience"
DISCOVERY: Final = "the order of things that have none, or other methods than GET on discovery and health"
BOOKKEEPING: Final = "managedFields of what upstream's controllers and admission plugins, or a zero value in Go, set"
GO_ZEROS: Final = "null, empty texts or empty objects that a Go struct writes and no client sent"
GO_EMPTY: Final = "whether a map was empty or absent, which Go forgets only when it writes"
LIFECYCLE: Final = "the taint of new nodes, which no controller here takes away again"
STATUS: Final = "a status or a finalizer that is set when there is something to say, not from the start"
RULES: Final = "a rule of a built-in kind that is not checked"
PLUGIN: Final = "what an admission plugin refuses or adds"
WARNING: Final = "a warning about a deprecated kind or an unwise field"
TIMING: Final = "upstream's controllers take their time; here a deletion is over when it is answered"
LATER: Final = "follows from a request before it that was answered differently"
VERSIONS: Final = "upstream loses all managedFields of an object that another version's schema has no place for"

BLAME: Final = "the client's mistake, so 400; upstream takes it for a fault of its own (500), in the same words"

KNOWN: Final[Mapping[str, Mapping[int, str]]] = {
    "applies": {**dict.fromkeys((19, 20, 37), BLAME), 21: WORDS},
    "bad_requests": {
        **dict.fromkeys((47, 48), WORDS),
        52: BLAME,
    },
    "built_in_kinds": {
        73: LIFECYCLE,
        **dict.fromkeys((36, 85, 86), BOOKKEEPING),
    },
    "custom_resources": {
        **dict.fromkeys((1, 2), BOOKKEEPING),
        4: DISCOVERY,
        **dict.fromkeys((67, 83), WORDS),
        **dict.fromkeys((97, 98, 99, 100), BLAME),
        106: TIMING,
    },
    "deployments": {10: GO_EMPTY},
    "documents": {0: ANSWERS, 7: DISCOVERY},
    "every_patch": dict.fromkeys((8, 18), BLAME),
    "objects_come_and_go": {14: BLAME},
    "pods": {
        25: PLUGIN,
        31: WARNING,
        **dict.fromkeys((33, 35, 42, 43), GO_ZEROS),
        40: WORDS,
        45: RULES,
        **dict.fromkeys((46, 47, 48, 49, 50, 52), LATER),
    },
    "reviews": {**dict.fromkeys((1, 7, 8, 10, 12, 13), ANSWERS)},
    "services": {4: BOOKKEEPING, 5: STATUS, 19: STATUS},
    "several_versions": {
        5: VERSIONS,
        **dict.fromkeys((6, 7), LATER),
        **dict.fromkeys((10, 11, 13), BOOKKEEPING),
        14: WORDS,
        15: TIMING,
    },
}
