"""Words: describes a fault in a sentence for readers who have not read the documentation."""

from __future__ import annotations

from typing import Final

from setpoint.simulation.plan import Fault

_AFTER: Final = ("crash-after", "lost-answer", "slow-answer", "external-lost")
_SENTENCES: Final = {
    "crash-before": "The controller's process was killed right before “{at}”, and started again {again}.",
    "crash-after": "The controller's process was killed right after “{at}” had been carried out, and started again "
    "{again}.",
    "restart": "The controller's process was replaced by a new one at the end of {at}.",
    "down": "No process of the controller ran during {at} of the user's.",
    "lag": "The controller heard of “{at}”, and of all later changes of that kind, only {later}{squashed}.",
    "hang-up": "The connection of a watch broke at “{at}”.",
    "expire": "A watch was ended with 410 (Expired) at “{at}”, so that its reader had to list again.",
    "expire-all": "All watches were ended with 410 (Expired) at the end of {at}.",
    "conflict": "Another program wrote the object just before “{at}” and took its change back, which is a 409 "
    "(Conflict) for a write that names a version.",
    "error-429": "The server answered “{at}” with 429 (Too Many Requests).",
    "error-500": "The server answered “{at}” with 500 (Internal Error), and did nothing.",
    "lost-request": "The connection broke before “{at}” got through to the server.",
    "lost-answer": "“{at}” was carried out, but the controller never got the answer.",
    "late-write": "“{at}” got no answer in time, and was carried out {later}.",
    "slow-request": "“{at}” took long to get through to the server.",
    "slow-answer": "“{at}” was carried out, and the answer took long.",
    "early": "The user did not wait at the end of {at}, but went on at once.",
    "pause": "The {who} stood still during {at}.",
    "freeze": "The controller's process stood still for {seconds} s in the middle of “{at}”, and another took over.",
    "cut-off": "The other cluster of the fleet could not be reached for a while, from {at} on.",
    "clock": "The clock of the controller's process was wrong by {seconds} s from {at} on.",
    "reverse-lists": "Lists came in the reverse order.",
    "shuffle": "Keys that were ready at the same time were worked on in an order of chance.",
    "hash-seed": "The process had another hash seed (PYTHONHASHSEED={seed}), so that sets came in another order.",
    "resync": "The controller looked at every object once more at the end of {at}.",
    "external-fails": "The external system could not be reached at “{at}”.",
    "external-lost": "The external system did what “{at}” asks for, but the answer was lost.",
    "external-empty": "The external system answered that there is nothing at “{at}”.",
}


def in_words(fault: Fault) -> str:
    """A sentence that describes the fault; the notation of plans is used if there is no sentence for its kind."""
    pattern = _SENTENCES.get(fault.kind)
    if pattern is None:
        return str(fault)
    over = fault.get("until") == "step"
    steps = 1 + int(fault.get("more", 0))
    next_steps = "the user's next step" if steps == 1 else f"the user's next {steps} steps"
    seconds = fault.get("seconds")
    after = f"after {seconds:g} s" if isinstance(seconds, int | float) else "a moment later"
    told = pattern.format(
        at=_at(fault.at),
        again=f"only after {next_steps}" if over else "at once",
        later=f"after {next_steps}" if over else after,
        squashed=", in their last state" if fault.get("relist") else "",
        who=fault.get("who", "controller"),
        seconds=seconds,
        seed=fault.get("seed", 0),
    )
    if fault.kind == "restart" and fault.get("behind"):
        told += f" Its first list was an old one, from when “{_at(fault.get('behind'))}” was new."
    return told


def told_after(text: str) -> bool:
    """Whether the fault that a trace describes as ``text`` strikes after its request."""
    return text.startswith(_AFTER)


def _at(point: str) -> str:
    """The name of the point in a sentence. A number 1 is left out, and ``run`` is called the beginning."""
    if point == "run":
        return "the beginning"
    return point.removesuffix(" #1")
