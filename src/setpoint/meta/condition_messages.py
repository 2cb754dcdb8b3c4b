"""Plain words for the conditions, waiting containers and messages of Kubernetes.

A message that matches none of the rules here is shown unchanged. The original messages are in the table of conditions
and in the events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_HEADS: Final[Mapping[tuple[str, str], str]] = {
    ("ReplicaFailure", "True"): "its pods can't be created",
    ("PodScheduled", "False"): "no node fits it",
    ("Progressing", "False"): "its rollout makes no progress",
    ("FailureTarget", "True"): "it is no longer retried",
    ("Failed", "True"): "it has failed",
    ("Stalled", "True"): "it is stalled",
    ("Reconciled", "False"): "its last reconcile failed",
    ("Reconciling", "True"): "it is being reconciled",
    ("Degraded", "True"): "it is degraded",
}
"""The meaning of a condition with that type and status."""
_CLEAR: Final = frozenset({("ReplicaFailure", "True"), ("PodScheduled", "False"), ("FailureTarget", "True")})
"""The conditions of Kubernetes whose reasons add nothing to their messages."""
_ADJECTIVES: Final = frozenset({"Ready", "Available", "Established", "Bound", "Healthy", "Synced"})
_PREEMPTION: Final = re.compile(r"(?: no new claims to deallocate,)? preemption: .*", re.DOTALL)
_FORBIDDEN: Final = re.compile(r'^\S+ "[^"]*" is forbidden: (?=.)')
_QUOTA: Final = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)$")
_CLASS: Final = re.compile(r"no PriorityClass with name (\S+) was found")
_WEBHOOK: Final = re.compile(
    r'failed calling webhook ("[^"]+"): failed to call webhook: (?:Post "[^"]*": )?(.*)', re.DOTALL
)
_SERVICE: Final = re.compile(r'https://([^./:"]+)\.([^./:"]+)\.svc[:/"]')
_NODES: Final = re.compile(r"^0/(\d+) nodes are available: (.*?)\.?\s*$", re.DOTALL)
_PULL: Final = re.compile(
    r'^(?:Back-off pulling image "[^"]*"(?:: ErrImagePull: )?)?(?:failed to pull and unpack image "[^"]*": )?'
)
_RESTARTS: Final = re.compile(r"^back-off (\S+) restarting failed(?: container)?$")
_BACKOFF_LIMIT: Final = "Job has reached the specified backoff limit"
_REFUSALS: Final[tuple[tuple[re.Pattern[str], str, str], ...]] = tuple(
    (re.compile(pattern), singular, plural)
    for pattern, singular, plural in (
        (r"node\(s\) had untolerated taint(?:\(s\))?( \{.*\})?", r"has a taint\1 that it does not tolerate",
         r"have a taint\1 that it does not tolerate"),
        (r"Insufficient (\S+)", r"has too little \1 for it", r"have too little \1 for it"),
        (r"node\(s\) didn't match Pod's node affinity/selector", "does not have the labels that it requires",
         "do not have the labels that it requires"),
        (r"node\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]", "does not have the labels that it requires",
         "do not have the labels that it requires"),
        (r"node\(s\) were unschedulable", "is cordoned", "are cordoned"),
        (r"Too many pods", "already has its maximum number of pods", "already have their maximum number of pods"),
    )
)  # fmt: skip
"""The scheduler's phrases for rejected nodes, each with a plain phrase for one node and a plain phrase for several."""


def condition(entry: Mapping[str, Any], kind: str = "") -> str:
    """The meaning of a condition whose status is not the wanted one, as a sentence about an object of that kind."""
    type_, status = str(entry.get("type")), str(entry.get("status"))
    reason, text = (str(entry.get(name) or "") for name in ("reason", "message"))
    head = _HEADS.get((type_, status), "")
    if not head and status == "False":
        head = f"it is not {type_.lower()}" if type_ in _ADJECTIVES else ""
    head = head or f"its condition {type_} is {status}"
    is_clear = (type_, status) in _CLEAR or (type_ == "Failed" and kind == "Job")
    if reason and not (is_clear and text):
        head = f"{head} ({reason})"
    return f"{head}: {message(text)}" if text else head


def message(text: str) -> str:
    """The message of a condition or of an event in plain words; unchanged if no rule matches it."""
    text = without_preemption(text).removeprefix("Internal error occurred: ")
    text = _FORBIDDEN.sub("", text)
    text = _CLASS.sub(r"PriorityClass \1 does not exist", text)
    text = text.replace(_BACKOFF_LIMIT, "more of its pods have failed than its backoffLimit allows")
    if match := _QUOTA.search(text):
        return text[: match.start()] + _quota(*match.groups())
    if match := _WEBHOOK.search(text):
        return text[: match.start()] + _webhook(match)
    if match := _NODES.match(text):
        return _nodes(*match.groups())
    return text


def container(name: Any, reason: str, text: str, ended: str) -> str:
    """The state of a waiting container as a sentence. ``ended`` describes the end of its last run; ``""`` if there was
    none.
    """
    if reason in ("ImagePullBackOff", "ErrImagePull"):
        rest = _PULL.sub("", text)
        return f"the image of container {name} can't be pulled ({reason})" + (f": {rest}" if rest else "")
    if reason == "CrashLoopBackOff":
        again = _RESTARTS.match(text)
        rest = f"it is restarted after {again[1]}" if again else text
        log = "kubectl logs --previous shows its log"
        parts = [
            f"container {name} keeps ending ({reason})",
            f"the last run {ended}" if ended else "",
            rest,
            log,
        ]
        return "; ".join(part for part in parts if part)
    description = f"container {name} waits ({reason})" if reason else f"container {name} waits"
    description = f"{description}: {text}" if text else description
    return f"{description}; its last run {ended}" if ended else description


def without_preemption(text: str) -> str:
    """The scheduler's message without its remarks about preemption, since a reader can't do anything about that."""
    return _PREEMPTION.sub("", text)


def _quota(name: str, requested: str, used: str, limited: str) -> str:
    """The amounts that a quota does not allow. ``requested``, ``used`` and ``limited`` are lists of NAME=AMOUNT,
    separated by commas.
    """
    wanted, existing, most = (_amounts(text) for text in (requested, used, limited))
    parts = [
        f"{amount} more of {resource}, of which {existing.get(resource, '?')} of {most.get(resource, '?')} is used"
        for resource, amount in wanted.items()
    ]
    return f"ResourceQuota {name} does not allow {'; '.join(parts)}"


def _amounts(text: str) -> dict[str, str]:
    """The amounts in a list of NAME=AMOUNT, by name."""
    return {name: amount for name, _, amount in (pair.partition("=") for pair in text.split(","))}


def _webhook(match: re.Match[str]) -> str:
    place = _SERVICE.search(match[0])
    rest = match[2]
    if place:  # the message names the service without its namespace
        rest = rest.replace(f'service "{place[1]}"', f'service "{place[2]}/{place[1]}"')
    return f"the webhook {match[1]} can't be called: {rest}"


def _nodes(number: str, text: str) -> str:
    if text.startswith("pod has unbound immediate PersistentVolumeClaims"):
        return "it waits for its PersistentVolumeClaims"
    parts = [_refused(part.strip()) for part in text.split(", ")]
    return f"of {number} node{'s' if number != '1' else ''}, {', '.join(parts)}"


def _refused(text: str) -> str:
    count, _, why = text.partition(" ")
    for pattern, singular, plural in _REFUSALS:
        if count.isdigit() and (match := pattern.fullmatch(why)):
            return f"{count} {match.expand(singular if count == '1' else plural)}"
    return text
