"""Mentions: the objects and kinds that a sentence names, so that a page can link to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from setpoint.cluster.object_browser.inventory import Inventory, InventoryItem
from setpoint.meta import Resource

_NAME: Final = r"[a-z0-9](?:[-a-z0-9./]*[a-z0-9])?"
_NAMED: Final = re.compile(
    rf'(?P<word>[A-Za-z]+(?:\.[a-z0-9.-]+)?) "(?P<quoted>{_NAME})"(?P<gone> not found)?'
    rf"|\b(?P<kind>[A-Z][A-Za-z]+) (?P<name>{_NAME})"
    r"|(?<=\bof )(?P<nodes>\d+ nodes?)\b"
)
_WEBHOOKS: Final = (
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
)


class Part(msgspec.Struct, rename="camel", kw_only=True):
    """A piece of a sentence. ``resource`` is ``""`` for plain words. ``key`` is the key of the object that the piece
    names, whether or not that object exists, and ``""`` if the piece names a kind.
    """

    text: str
    resource: str = ""
    key: str = ""


class Mentions:
    """Finds mentions of an inventory's objects in sentences. The objects are those that existed at the last refresh."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._resources: dict[str, tuple[str, Resource]] = {}
        for name, served in inventory.served().items():
            for word in (served.resource.plural, served.resource.kind.lower()):
                for alias in (word, f"{word}.{served.resource.group}"):
                    self._resources.setdefault(alias, (name, served.resource))

    def parts(self, text: str, namespace: str) -> list[Part]:
        """The sentence in pieces. Names without a namespace are looked for in ``namespace``."""
        parts: list[Part] = []
        at = 0
        for match in _NAMED.finditer(text):
            pieces = list(self._pieces(match, namespace))
            if pieces:
                parts += [Part(text=text[at : match.start()]), *pieces]
                at = match.end()
        return [part for part in [*parts, Part(text=text[at:])] if part.text]

    def _pieces(self, match: re.Match[str], namespace: str) -> Iterator[Part]:
        if match["nodes"]:
            yield Part(text=match["nodes"], resource="nodes")
            return
        word, name = match["word"] or match["kind"], match["quoted"] or match["name"]
        if word == "webhook":
            yield from self._webhook(match[0], name)
            return
        resource_and_served = self._resources.get(word.lower())
        if resource_and_served is None:
            return
        resource, served = resource_and_served
        space, _, own = name.rpartition("/")
        key = f"{space or namespace}/{own}" if served.namespaced else name
        exists = key in self._inventory.of(resource)
        if match["kind"] and not exists and not match.string.startswith(" does not exist", match.end()):
            return  # two words that only look like a kind and a name
        yield Part(text=f"{served.kind} {name}", resource=resource, key=key)
        if match["gone"]:
            yield Part(text=" does not exist")

    def _webhook(self, text: str, name: str) -> Iterator[Part]:
        for resource in _WEBHOOKS:
            for key, item in self._inventory.of(resource).items():
                if _has_webhook(item, name):
                    yield Part(text=text, resource=resource, key=key)
                    return


def _has_webhook(item: InventoryItem, name: str) -> bool:
    obj: Mapping[str, Any] = msgspec.json.decode(item.record.value)
    return any(webhook.get("name") == name for webhook in obj.get("webhooks") or ())
