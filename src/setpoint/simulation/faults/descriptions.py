"""Descriptions: describes a fault in a sentence for readers who have not read the documentation."""

from __future__ import annotations

from typing import Final

from setpoint.simulation.faults.plan import Fault

_AFTER: Final = ("crash-after", "lost-answer", "slow-answer", "external-lost")
_SENTENCES: Final = {
    "crash-before": "The controller's process was killed right before {point}, and started again {again}.",
    "crash-after": "The controller's process was killed right after {point} had been carried out, and started again "
    "{again}.",
    "restart": "The controller's process was replaced by a new one at the end of {at}.",
    "down": "No process of the controller ran during {at}.",
    "lag": "The controller saw {point}, and all later changes of that kind, only {later}{squashed}.",
    "hang-up": "The connection of a watch broke at {point}.",
    "expire": "A watch was ended with 410 (Expired) at {point}, so the informer had to list again.",
    "expire-all": "All watches were ended with 410 (Expired) at the end of {at}.",
    "conflict": "Another program wrote the object just before {point} and reverted its change, so a write that "
    "names a resourceVersion got 409 (Conflict).",
    "error-429": "The server answered {point} with 429 (Too Many Requests).",
    "error-500": "The server answered {point} with 500 (Internal Error), and stored nothing.",
    "lost-request": "The connection broke before {point} reached the server.",
    "lost-answer": "{point} was carried out, but the controller never got the answer.",
    "late-write": "{point} got no answer in time, and was carried out {later}.",
    "slow-request": "{point} took long to reach the server.",
    "slow-answer": "{point} was carried out, and the answer took long.",
    "early": "The user did not wait at the end of {at}, but went on at once.",
    "pause": "The {who} was stopped during {at}.",
    "freeze": "The controller's process was stopped {still} in the middle of {point}, and another process took over.",
    "cut-off": "The other cluster of the fleet could not be reached for a while, from {at} on.",
    "clock": "The clock of the controller's process was wrong by {seconds} s from {at} on.",
    "reverse-lists": "Lists came in reverse order.",
    "shuffle": "Lists and the keys of work queues came in a random order, and requests took random times.",
    "hash-seed": "The process had another hash seed (PYTHONHASHSEED={seed}), so that sets came in another order.",
    "resync": "The controller reconciled every object once more at the end of {at}.",
    "external-fails": "The external system could not be reached at {point}.",
    "external-lost": "The external system carried out {point}, but its answer was lost.",
    "external-late": "The external system did not answer {point} in time, and carried it out {later}.",
    "external-empty": "The external system answered {point} as if it had no data.",
}

_ORDINALS: Final = {
    "2": "second", "3": "third", "4": "fourth", "5": "fifth", "6": "sixth", "7": "seventh", "8": "eighth", "9": "ninth",
}  # fmt: skip


def describe_fault(fault: Fault) -> str:
    """A sentence that describes the fault; the notation of plans is used if there is no sentence for its kind."""
    pattern = _SENTENCES.get(fault.kind)
    if pattern is None:
        return str(fault)
    over = fault.get("until") == "step"
    steps = 1 + int(fault.get("more", 0))
    next_steps = "the user's next step" if steps == 1 else f"the user's next {steps} steps"
    seconds = fault.get("seconds")
    after = f"after {seconds:g} s" if isinstance(seconds, int | float) else "a moment later"
    sentence = pattern.format(
        at="the beginning" if fault.at == "run" else fault.at,
        point=_point(fault.at),
        again=f"only after {next_steps}" if over else "at once",
        later=f"after {next_steps}" if over else after,
        squashed=", and only their last state" if fault.get("relist") else "",
        who=fault.get("who", "controller"),
        seconds=seconds,
        still=f"for {next_steps}" if over else f"for {seconds} s",
        seed=fault.get("seed", 0),
    )
    if fault.kind == "restart" and fault.get("behind"):
        sentence += f" Its first list was old: it showed the state as of {_point(fault.get('behind'))}."
    return sentence[0].upper() + sentence[1:]


def strikes_after_request(text: str) -> bool:
    """Whether the fault that a trace describes as ``text`` strikes after its request."""
    return text.startswith(_AFTER)


def _point(point: str) -> str:
    """The name of any other point in a sentence, with its number in words unless it is the first one."""
    stem, _, number = point.rpartition(" #")
    if not stem or number == "1":
        return f"“{stem or point}”"
    return f"the {_ORDINALS.get(number, f'{number}th')} “{stem}”"
