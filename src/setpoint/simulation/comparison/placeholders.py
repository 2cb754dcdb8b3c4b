"""Placeholders: the texts that replace the uids, names and addresses that the server generated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_UID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?\b")
"""A uid, or as much of its beginning as programs put into names."""
_VERSION: Final = re.compile(r"\b\d{10,}\b")
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_CONTAINER: Final = re.compile(r"[a-z-]+://[0-9a-f]{64}")
"""The id of a container, which its runtime chooses."""


class Placeholders:
    """Replaces the uids, generated names, addresses, node ports and ids of containers of ``documents`` with texts: all
    but the last two both where they are a whole value and where they are part of a longer text.

    ``called`` maps the uid of every object that has ever existed to the object's name; it may map versions to texts,
    too. An object that is gone and its successor of the same name have different texts for their uids. ``starred``
    replaces the random parts of a name that a program has made.
    """

    def __init__(
        self,
        documents: Mapping[tuple[str, str], dict[str, Any]],
        called: Mapping[str, str],
        starred: Callable[[str], str] = str,
    ) -> None:
        self._exact: dict[str, str] = {}
        self._ports: dict[int, str] = {}
        self._begins: dict[str, list[str]] = {}
        generated: dict[str, str] = {}
        alive: set[str] = set()
        for (collection, _), document in documents.items():
            meta = document.get("metadata", {})
            alive.add(meta.get("uid", ""))
            prefix, name = meta.get("generateName"), meta.get("name", "")
            if prefix and name.startswith(prefix):
                generated[name] = starred(prefix + "*")
            elif (masked := starred(name)) != name:
                generated[name] = masked
            if collection in ("services", "pods"):
                self._addresses(f"{collection} {called.get(meta.get('uid', ''), name)}", document)
        for uid, name in called.items():
            if "-" not in uid:
                self._exact[uid] = f"<{name}>"
                continue
            self._exact[uid] = f"<uid of {name}>" if uid in alive else f"<uid of an earlier {name}>"
            self._begins.setdefault(uid[:8], []).append(uid)
        self._exact |= generated
        words = sorted((re.escape(name) for name in generated), key=len, reverse=True)
        self._generated = re.compile(rf"\b(?:{'|'.join(words)})\b") if words else None
        self._names = generated

    def _addresses(self, subject: str, document: dict[str, Any]) -> None:
        spec, status = document.get("spec", {}), document.get("status", {})
        pod_ips = [item.get("ip") for item in status.get("podIPs") or ()]
        for address in (spec.get("clusterIP"), *(spec.get("clusterIPs") or ()), status.get("podIP"), *pod_ips):
            if address and address != "None" and not spec.get("hostNetwork"):
                self._exact[address] = f"<address of {subject}>"
        for port in spec.get("ports") or ():
            if port.get("nodePort"):
                self._ports[port["nodePort"]] = f"<port of {subject}>"

    def port(self, value: Any) -> Any:
        """The text that replaces ``value`` if it is a node port of a Service, otherwise ``value``."""
        return self._ports.get(value, value) if isinstance(value, int) else value

    def text(self, value: str) -> str:
        """The stand-in for ``value``, if there is one. Otherwise ``value`` itself, in which the known names, uids,
        versions and addresses are replaced by their stand-ins.
        """
        placeholder = self._exact.get(value)
        if placeholder is not None:
            return placeholder
        if _CONTAINER.fullmatch(value):
            return "<id of a container>"
        if len(value) < 7:
            return value
        if self._generated is not None:
            value = self._generated.sub(lambda match: self._names[match[0]], value)
        value = _VERSION.sub(self._version_or_address, _UID.sub(self._uid, value))
        return _ADDRESS.sub(self._version_or_address, value) if "." in value else value

    def _version_or_address(self, match: re.Match[str]) -> str:
        return self._exact.get(match[0], match[0])

    def _uid(self, match: re.Match[str]) -> str:
        text = match[0]
        for uid in self._begins.get(text[:8], ()):
            if uid.startswith(text):
                return self._exact[uid]
        return text
