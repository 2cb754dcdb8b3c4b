"""Health and readiness: named checks, answered in the format of Kubernetes' own servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

Check = Callable[[], str]
"""A function that returns the reason for a failure, or ``""`` if there is none. It must not block."""


class HealthChecks:
    """Named checks behind one path, such as ``/readyz``. If there are no checks, a positive answer shows only that the
    process responds.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._checks: dict[str, Check] = {}
        self._remarks: set[str] = set()

    def add(self, name: str, check: Check, *, counts: bool = True) -> None:
        """Adds a check. Without ``counts``, the check is listed and has its own path, but its failure does not make the
        whole path fail.

        Raises:
            ValueError: the name is taken.
        """
        if name in self._checks:
            raise ValueError(f"{self.name} already has a check named {name!r}")
        self._checks[name] = check
        if not counts:
            self._remarks.add(name)

    def remove(self, name: str) -> None:
        self._checks.pop(name, None)
        self._remarks.discard(name)

    def problems(self, *, exclude: Iterable[str] = ()) -> dict[str, str]:
        """The failing checks that count, with their reasons."""
        skipped = {*exclude, *self._remarks}
        return {name: why for name, check in self._checks.items() if name not in skipped and (why := check())}

    def answer(self, path: str, query: Mapping[str, list[str]]) -> tuple[int, str]:
        """The HTTP status and text for ``path``, relative to the path of these checks: ``""`` for all checks,
        ``NAME`` for a single one.

        For all checks, ``?verbose`` lists each of them (a failing answer always does), and ``?exclude=NAME``
        ignores one.
        """
        checks: dict[str, Check] = self._checks or {"ping": lambda: ""}
        if path:
            if path not in checks:
                return 404, f"there is no check {path!r}\n"
            why = checks[path]()
            return (500, f"{self.name} check failed: {why}\n") if why else (200, "ok")
        excluded = set(query.get("exclude", ()))
        lines: list[str] = []
        failed = False
        for name, check in sorted(checks.items()):
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            why = check()
            if why and name in self._remarks:
                lines.append(f"[!]{name} failed (ignored): {why}")
                continue
            failed = failed or bool(why)
            lines.append(f"[-]{name} failed: {why}" if why else f"[+]{name} ok")
        if unknown := ",".join(f'"{name}"' for name in sorted(excluded - set(checks))):
            lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}")
        if failed:
            return 500, "\n".join([*lines, f"{self.name} check failed\n"])
        if "verbose" in query:
            return 200, "\n".join([*lines, f"{self.name} check passed\n"])
        return 200, "ok"
