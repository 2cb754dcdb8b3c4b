"""Plan: the faults of one run, as a value that can be compared, shortened, stored and replayed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from setpoint.meta.yaml_parser import parse_yaml

Value = str | int | float | bool
PREFIX = "sp1-"


class PlanError(ValueError):
    """A token or a file does not contain a plan."""


class Fault(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One fault: what happens (``kind``), at which point of the run (``at``), and the details (``how``).

    ``at`` is the name of the point in the trace: ``create pods default/sample-0 #1``, ``step 2``, or ``run`` for the
    whole run.
    """

    kind: str
    at: str
    how: tuple[tuple[str, Value], ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        """The detail with that name, or ``default`` if the fault does not have it."""
        return dict(self.how).get(name, default)

    def __str__(self) -> str:
        details = ", ".join(f"{name} {value}" for name, value in self.how)
        text = f"{self.kind} at {self.at}" + (f" ({details})" if details else "")
        return f"{text}, with lists from a server that can't stream them" if self.get("behind") else text


_HIDING: Final = ("lag", "early", "down", "pause", "freeze")


def fault(kind: str, at: str, **how: Value | None) -> Fault:
    """A fault; details that are None are left out."""
    return Fault(kind, at, tuple((name, value) for name, value in how.items() if value is not None))


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The faults of a run, the seed of all random choices, and the step after which the scenario ends early (0 for
    none).
    """

    faults: tuple[Fault, ...] = ()
    seed: int = 0
    stop: int = 0

    def of(self, kind: str) -> list[Fault]:
        return [fault for fault in self.faults if fault.kind == kind]

    @property
    def starts_stale(self) -> bool:
        """Whether the plan makes a process start with lists that are older than the state that its predecessor saw.
        Such a process reads from a server that can't stream lists.
        """
        return any(fault.kind == "restart" and fault.get("behind") for fault in self.faults)

    @property
    def hides_changes(self) -> bool:
        """Whether a controller may miss some of the user's changes because it sees a change only after the next one, or
        is not running when the user makes it.
        """
        return any(fault.kind in _HIDING or fault.get("until") == "step" for fault in self.faults)

    @property
    def hash_seed(self) -> int | None:
        """The hash seed of the run's process; None if it does not matter."""
        return next((int(fault.get("seed", 0)) for fault in self.faults if fault.kind == "hash-seed"), None)

    def with_(self, faults: Iterable[Fault]) -> Plan:
        """The same plan with ``faults`` in place of its own."""
        return Plan(tuple(faults), self.seed, self.stop)

    # -- on one line ---------------------------------------------------------------------------------------------------

    def token(self, code: str = "", scenario: str = "") -> str:
        """The whole plan on one line. ``code`` is a digest of the code under test, and ``scenario`` is the scenario's
        name.
        """
        content = {"c": code, "n": scenario, "p": msgspec.to_builtins(self)}
        packed = zlib.compress(msgspec.json.encode(content), 9)
        return PREFIX + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    @classmethod
    def parse(cls, token: str) -> tuple[Plan, str, str]:
        """The plan in a token, the digest of the code with which it was found, and the scenario's name.

        Raises:
            PlanError: the text is not a token.
        """
        text = token.strip()
        if not text.startswith(PREFIX):
            raise PlanError(f"a replay token begins with {PREFIX!r}; this one begins with {text[:12]!r}")
        try:
            raw = base64.urlsafe_b64decode(text[len(PREFIX) :] + "=" * (-len(text[len(PREFIX) :]) % 4))
            content = msgspec.json.decode(zlib.decompress(raw))
            return msgspec.convert(content["p"], cls), content["c"], content["n"]
        except (ValueError, zlib.error, KeyError, msgspec.MsgspecError) as problem:
            raise PlanError(f"the replay token is cut off or changed: {problem}") from None

    # -- as YAML -------------------------------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """The plan as plain values for YAML."""
        document: dict[str, Any] = {
            "seed": self.seed,
            "faults": [{"kind": fault.kind, "at": fault.at, **dict(fault.how)} for fault in self.faults],
        }
        if self.stop:
            document["stop"] = self.stop
        return document

    @classmethod
    def from_document(cls, document: Any) -> Plan:
        """The plan in a document that `to_document` has made. Raises PlanError if the document does not contain a
        plan.
        """
        try:
            faults = []
            for entry in document["faults"]:
                how = {name: value for name, value in entry.items() if name not in ("kind", "at")}
                faults.append(fault(entry["kind"], entry["at"], **how))
            return cls(tuple(faults), int(document.get("seed", 0)), int(document.get("stop", 0)))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise PlanError(
                f"it is not a plan: {problem!r}; a plan needs `faults:`, each with `kind:` and `at:`"
            ) from None

    @classmethod
    def load(cls, text: str) -> tuple[Plan, str, str]:
        """The plan, the digest and the scenario's name in a token or in the text of a counter-example's file. Raises
        PlanError if the text does not contain a plan.
        """
        if text.strip().startswith(PREFIX):
            return cls.parse(text)
        try:
            document = parse_yaml(text.encode())[0]
        except ValueError as problem:
            raise PlanError(f"it is neither a token nor YAML: {problem}") from None
        if not isinstance(document, dict) or "plan" not in document:
            raise PlanError("it is neither a token nor a counter-example: `plan:` is missing")
        return cls.from_document(document["plan"]), str(document.get("code", "")), str(document.get("scenario", ""))
