"""``setpoint rbac``: compares the permissions that a program declares, those that its tests request, and those that a
role grants.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from setpoint.apiserver.authorization.access_record import VARIABLE, read
from setpoint.cli.program_declarations import declared_by
from setpoint.cli.program_loader import SourceError, loaded
from setpoint.deploy.permission_comparison import Comparison, compare, describe, granted_in
from setpoint.manager.pause_switch import PAUSE_SWITCH
from setpoint.meta.text_escaping import visible
from setpoint.meta.user_error import UserError
from setpoint.meta.yaml_files import read_yaml, yaml_files
from setpoint.permissions import (
    Grant,
    access_reviews,
    certificates,
    declaration,
    declared,
    injection,
    leases,
    of_the_framework,
    pause_switch,
)
from setpoint.webhook import with_conversions
from setpoint.webhook.registration import trusting

_MISSING, _TROUBLE = 1, 2
_CERTIFICATES: Final = "webhook-tls"
_CONFIGURATION: Final = "webhooks"
"""Like `_CERTIFICATES`, a placeholder in the declared grants for a name that is chosen at deployment."""


def rbac(
    app: str,
    command: Sequence[str],
    *,
    role: Path | None,
    requests: Path | None,
    strict: bool,
    output: Literal["text", "json"] = "text",
    options: Sequence[str] = (),
) -> int:
    """See `setpoint.cli.main.rbac`."""
    try:
        with loaded(app) as program:
            declarations = declared_by(program.values, options)
            if not declarations.controllers:
                raise SourceError(f"{app}: no Controller in a global name, such as controller = Controller(...)")
            served = with_conversions((*declarations.admissions, *declarations.conversions), declarations.all_kinds)
            declared_grants = declared(declarations.controllers, served)
            besides = leases() | access_reviews() | of_the_framework(declarations.controllers)
            optional = pause_switch(PAUSE_SWITCH) - declared_grants
            if served:
                besides |= certificates(_CERTIFICATES) | injection(trusting(served, _CONFIGURATION))
        # A switch is optional, so a role may have its grants and need not.
        granted = None if role is None else [grant for grant in _granted(role) if grant not in optional]
        if not command and requests is None and granted is None:
            raise SourceError("there is nothing to compare with: --role FILE, --requests FILE, or the tests after --")
        wanted = _recorded_grants(command, requests)
        if command and not wanted:
            raise SourceError(
                f"{command[0]} recorded no request: controllers are recorded in sp.testing.cluster and sp.simulation"
            )
        result = compare(declared_grants, wanted, granted, besides=besides, stand_ins=(_CERTIFICATES, _CONFIGURATION))
    except KeyboardInterrupt:
        return 130
    except (OSError, SourceError, UserError) as problem:
        text = f"{problem.filename}: {problem.strerror}" if isinstance(problem, OSError) else problem
        print(visible(f"setpoint rbac: {text}"), file=sys.stderr)  # noqa: T201 - this is the user's terminal
        return _TROUBLE
    if output == "json":
        sys.stdout.write(json.dumps(_document(result), indent=2) + "\n")
    else:
        _tell(result, role, has_requests=bool(wanted))
    return _MISSING if result.is_missing or (strict and result.is_exceeding) else 0


def _recorded_grants(command: Sequence[str], requests: Path | None) -> list[Grant]:
    """Runs the tests, if there is a command for them, and returns the permissions that the recorded requests needed."""
    with tempfile.TemporaryDirectory(prefix="setpoint-") as folder:
        path = requests.absolute() if requests is not None else Path(folder) / "requests"
        if command:
            # The output of the tests must not be mixed with the command's own.
            done = subprocess.run(command, env={**os.environ, VARIABLE: str(path)}, stdout=sys.stderr, check=False)  # noqa: S603 - the user's own
            if done.returncode:
                raise SourceError(f"{' '.join(command)} ended with status {done.returncode}, so nothing is compared")
        try:
            records = read(path)
        except msgspec.DecodeError as problem:
            raise SourceError(f"{path}: not a record of setpoint rbac: {problem}") from None
    return [Grant(record.group, record.resource, record.verb, record.name, record.url) for record in records]


def _granted(role: Path) -> list[Grant]:
    contents = [document for file in yaml_files(role) for document in read_yaml(file)]
    documents = [document for document in contents if isinstance(document, dict)]
    if not any(document.get("kind") in ("Role", "ClusterRole") for document in documents):
        raise SourceError(f"{role}: it contains neither a Role nor a ClusterRole")
    return granted_in(documents)


def _document(result: Comparison) -> dict[str, list[str]]:
    return {
        "undeclared": _code(result.undeclared),
        "ungranted": describe(result.ungranted),
        "excessive": describe(result.excessive),
        "unused": describe(result.unused),
    }


def _tell(result: Comparison, role: Path | None, *, has_requests: bool) -> None:
    _list("requested, but not declared: add to the controller", result.undeclared, as_code=True)
    _list(f"needed, but not granted by {role}", result.ungranted)
    _list(f"granted by {role}, but not needed", result.excessive)
    _list("declared, but not requested in these tests", result.unused)
    if not result.is_missing:
        compared = [word for word, is_there in (("the tests", has_requests), (str(role), role is not None)) if is_there]
        print(f"nothing is missing: the declarations match {' and '.join(compared)}")  # noqa: T201


def _list(title: str, grants: Sequence[Grant], *, as_code: bool = False) -> None:
    if not grants:
        return
    print(f"{title}:")  # noqa: T201 - this is the user's terminal
    for line in _code(grants) if as_code else describe(grants):
        print(visible(f"  {line}"))  # noqa: T201


def _code(grants: Iterable[Grant]) -> list[str]:
    """The code of the declarations to add: ``.needs(ConfigMap, "create", "patch")``."""
    from setpoint.models import BUILTIN

    kinds = {(kind.group, kind.plural): kind.kind for kind in BUILTIN}
    lines: dict[tuple[str, str, str], list[str]] = {}
    for grant in grants:
        lines.setdefault((grant.url, grant.group, grant.resource), []).append(grant.verb)
    declarations = []
    for (url, group, whole), verbs in sorted(lines.items()):
        resource = whole.partition("/")[0]
        kind = kinds.get((group, resource), f"<the class of {f'{resource}.{group}'.rstrip('.')}>")
        declarations.append(declaration(Grant(group, whole, "", url=url), sorted(verbs), kind))
    return declarations
