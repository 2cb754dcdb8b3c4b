"""``/debug/yaml``: an object from a controller's cache, for users to whom the API server would show it, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from setpoint.controller import RunningController
from setpoint.manager.debug_pages.manager_page import as_json, missing
from setpoint.manager.http_server import Answer, Handler
from setpoint.meta import GroupResource, ObjectKey

PATH: Final = "/debug/yaml"
HIDDEN: Final = "(hidden)"
LARGEST: Final = 256 * 1024
"""The maximum size of an object that is shown as YAML, in bytes."""
_LONGEST: Final = 4 * LARGEST
"""The maximum number of characters in the YAML, which is longer than the JSON because nested values are indented."""

ObjectAccess = Callable[[GroupResource, ObjectKey, Mapping[str, str]], Awaitable[Answer | None]]
"""A function of ``(resource, key, lower-case headers)`` that returns the refusal, or None if the caller may ``get`` the
object.
"""


class DocumentSummary(msgspec.Struct, rename="camel", kw_only=True):
    """An object as YAML. ``hidden`` names the parts that are not shown."""

    controller: str
    group: str
    plural: str
    key: str
    yaml: str
    hidden: str


class _Asked(msgspec.Struct):
    """The object that a request asks for, whether or not it exists."""

    group: str = ""
    plural: str = ""
    key: str = ""


class DocumentsPage:
    """``/debug/yaml?controller=NAME&key=NAMESPACE/OBJECT``: a `DocumentSummary`; `guarded` checks the caller.

    The page shows the controller's view and makes no request. It never shows the data of Secrets.
    """

    def __init__(self, controllers: Callable[[], Mapping[str, RunningController[Any]]]) -> None:
        self._find = controllers

    def answer(self, _path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        controllers = self._find()
        name, key = (next(iter(query.get(word, ())), "") for word in ("controller", "key"))
        run = controllers.get(name)
        if run is None:
            return missing(f"there is no controller {name!r}", controllers)
        resource = run.controller.resource
        informer = run.informers.get(resource.gvr)
        document = informer.store.get(ObjectKey(key)) if informer is not None else None
        if document is None:
            why = f"there is no {resource.kind} {key} in the cache of this process"
            return as_json({"error": why, "group": resource.group, "plural": resource.plural, "key": key}, 404)
        try:
            text, hidden = as_yaml(msgspec.json.decode(document), len(document))
        except RecursionError:
            text, hidden = (
                "# This object is nested too deeply to be shown here: use kubectl get -o yaml\n",
                "Not shown: the whole object.",
            )
        description = DocumentSummary(
            controller=name, group=resource.group, plural=resource.plural, key=key, yaml=text, hidden=hidden
        )
        return as_json(description)


def guarded(page: Handler, access: ObjectAccess) -> Handler:
    """A handler that answers like ``page`` if the request's bearer token belongs to a user who may ``get`` the object.

    A program on the same machine needs a token, too: users who may not read the object may be able to forward a port to
    this process.
    """

    async def answer(path: str, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Answer:
        if not headers.get("authorization"):
            return Answer(401, b"unauthorized: a bearer token is required for the content of objects\n")
        pending = page(path, query, headers)
        answer = pending if isinstance(pending, Answer) else await pending
        if answer.status not in (200, 404):
            return answer
        shown_object = msgspec.json.decode(answer.body, type=_Asked)
        if not shown_object.plural:
            return answer  # of no controller
        return (
            await access(GroupResource(shown_object.group, shown_object.plural), ObjectKey(shown_object.key), headers)
            or answer
        )

    return answer


def as_yaml(obj: dict[str, Any], size: int) -> tuple[str, str]:
    """The object as YAML, without its managed fields and hidden parts, and a sentence that names the omissions. For an
    object that is too large, a comment takes the place of the YAML.

    ``obj`` is changed; ``size`` is its size in bytes.
    """
    hidden = "Not shown: managed fields."
    if is_secret(obj):
        hidden = f"Not shown: managed fields, and the content of a Secret: its data and annotations are {HIDDEN}."
    if size > LARGEST:
        return (
            f"# This object has {size:,} bytes, and the page shows at most {LARGEST:,}: use kubectl get -o yaml\n",
            hidden,
        )
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    redacted(obj)
    from setpoint.meta.yaml_text import to_yaml  # a process whose page is not used needs no YAML

    text = to_yaml([obj])
    if len(text) > _LONGEST:
        return (
            f"# This object has {len(text):,} characters as YAML, and the page shows at most {_LONGEST:,} of them\n",
            hidden,
        )
    return text, hidden


def is_secret(obj: Mapping[str, Any]) -> bool:
    return obj.get("apiVersion") == "v1" and obj.get("kind") == "Secret"


def redacted(obj: dict[str, Any]) -> bool:
    """Hides the secret parts of ``obj`` in place; returns whether there were any. The secret parts are the values of a
    Secret's data, and those of its annotations, because some programs keep a copy of the whole object in an annotation.
    """
    if not is_secret(obj):
        return False
    metadata = obj.get("metadata")
    has_parts = False
    for place, name in ((obj, "data"), (obj, "stringData"), (metadata, "annotations")):
        if isinstance(place, dict) and (part := place.get(name)):
            place[name] = dict.fromkeys(part, HIDDEN) if isinstance(part, dict) else HIDDEN
            has_parts = True
    return has_parts
