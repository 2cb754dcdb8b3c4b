"""The names of a project's package, program and kinds, derived from the names that the user gave."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from setpoint.crd.custom_resource import plural_of
from setpoint.meta.names import dns1035_label, dns1123_subdomain

_VERSION: Final = re.compile(r"v[1-9]\d*(?:(?:alpha|beta)[1-9]\d*)?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_NUMBER: Final = re.compile(r"[0-9][0-9.e]*")
_ENDINGS: Final = ("operator", "controller")
_LONGEST: Final = 40
_LONGEST_KIND: Final = 32
"""The maximum length of a kind's name: with a longer name, formatters would break the lines of the templates
differently.
"""
_IMPORTED: Final = frozenset({
    "Annotated", "Any", "AsyncIterator", "Container", "Deployment", "DeploymentSpec", "Invalid", "LabelSelector",
    "Path", "Pod", "PodSpec", "PodTemplateSpec", "ResourceRequirements",
})  # fmt: skip
"""The classes that the templates import."""
_SPOKEN: Final = frozenset({
    "admission", "admissions", "asynccontextmanager", "check_conversions", "clean_up", "cluster", "controller",
    "controllers", "ctx", "demo", "deployment", "deployment_of", "document", "fill_in", "from_wire", "image", "int",
    "is_ready", "judge", "kinds", "labels", "len", "lifespan", "list", "main", "manager", "object", "operator", "parts",
    "pod", "print", "program", "pytest", "ready", "reconcile", "replicas", "review", "sample", "scenario", "selector",
    "show", "sorted", "sp", "spec", "stand_in", "status", "str", "template", "type", "versions", "wanted", "what",
    "why", "yaml",
})  # fmt: skip
"""The other names in the code of the templates. A kind with one of these names has the module ``NAME_kind``."""
_TAKEN: Final = ("setpoint", "tests", "test", "src", "demo", "deploy", "samples")
_TOOLS: Final = frozenset({"cloudpickle", "hypothesis", "mypy", "pip", "pre-commit", "pyright", "pytest", "ruff", "uv"})
"""The packages in the project's environment, other than setpoint's dependencies."""


_NOT_TEXT: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
"""Words that Kubernetes' YAML 1.1 reads as a boolean or as nothing, in any case, where they stand without quotes."""


class NameProblem(Exception):
    """A name can't be used; the message states the rule that it breaks, usually with an example or a suggestion."""


@dataclass(frozen=True)
class ProjectName:
    """The names of a project: ``my-shop`` has the package ``my_shop``. Raises `NameProblem` if a name is not valid."""

    name: str
    group: str

    def __post_init__(self) -> None:
        if len(self.name) > _LONGEST or dns1035_label(self.name):
            raise NameProblem(
                f"the name {self.name!r}: must be at most {_LONGEST} lower-case letters, digits and hyphens, a letter "
                "first, such as shop or backup-operator"
            )
        if keyword.iskeyword(self.package) or self.package in sys.stdlib_module_names or self.package in _TAKEN:
            raise NameProblem(
                f"the name {self.name!r}: Python has a module or keyword of that name; try {self._other_name}"
            )
        if self.name in _NOT_TEXT:
            raise NameProblem(f"the name {self.name!r}: YAML reads it as a boolean or as null; try {self._other_name}")
        if dns1123_subdomain(self.group) or "." not in self.group or _NUMBER.fullmatch(self.group):
            raise NameProblem(
                f"--group {self.group!r}: must be a domain name of yours, such as {self.name}.example.com"
            )

    def check_is_free(self) -> None:
        """Raises `NameProblem` if the project's environment already has a package or a module of that name."""
        elsewhere = [place for place in sys.path if place and Path(place).resolve() != Path.cwd()]
        if self.name in _TOOLS | _requirements() or PathFinder.find_spec(self.package, elsewhere) is not None:
            raise NameProblem(
                f"the name {self.name!r}: a package of that name is installed, and Python could import the "
                f"other; try {self._other_name}"
            )

    @property
    def _other_name(self) -> str:
        return f"my-{self.name}" if self.name.endswith(_ENDINGS) else f"{self.name}-operator"

    @property
    def package(self) -> str:
        return self.name.replace("-", "_")

    @property
    def program(self) -> str:
        """The name of the program, which must be unique in a cluster."""
        return self.group if self.group.startswith(f"{self.name}.") else f"{self.name}.{self.group}"

    @property
    def kind(self) -> str:
        """The default name of the first kind: ``MyShop`` for ``my-shop``, ``Backup`` for ``backup-operator``."""
        words = [word for word in self.name.split("-") if word]
        if len(words) > 1 and words[-1] in _ENDINGS:
            words.pop()
        return "".join(word.capitalize() for word in words)


@dataclass(frozen=True)
class KindName:
    """The names of a kind in one of its versions: ``DatabaseBackup`` is in the module ``database_backup``. Raises
    `NameProblem` if a name is not valid.
    """

    kind: str
    version: str
    group: str
    given_plural: str = ""

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.kind) or len(self.kind) > _LONGEST_KIND or keyword.iskeyword(self.kind):
            raise NameProblem(f"the kind {self.kind!r}: a singular in CamelCase of up to {_LONGEST_KIND} letters")
        if self.kind.lower() in _NOT_TEXT or self.plural in _NOT_TEXT:
            raise NameProblem(f"the kind {self.kind!r}: YAML reads it as a boolean or as null; try My{self.kind}")
        if self.kind.endswith("List"):
            raise NameProblem(
                f"the kind {self.kind!r}: clients treat a kind that ends in List as a list of objects; "
                f"try {self.kind.removesuffix('List') or 'Listing'}"
            )
        if self.kind in _IMPORTED:
            raise NameProblem(
                f"the kind {self.kind!r}: the project's code has another class of that name; try My{self.kind}"
            )
        if keyword.iskeyword(self.module):
            raise NameProblem(
                f"the kind {self.kind!r}: {self.module} is a keyword of Python, so no module can have that name"
            )
        check_version(self.version)

    @property
    def module(self) -> str:
        """The name of the folder with the kind's code, and of variables that hold an object of the kind."""
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", self.kind).lower()
        return f"{words}_kind" if words in _SPOKEN else words

    @property
    def plural(self) -> str:
        return self.given_plural or plural_of(self.kind)


def _requirements() -> set[str]:
    """The names of the distributions that setpoint needs."""
    from importlib.metadata import requires  # imported only here, because the import is slow

    matches = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requires("setpoint") or ())
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in matches if match is not None}


def check_version(version: str) -> None:
    """Raises `NameProblem` unless ``version`` follows Kubernetes' convention for versions, such as ``v1alpha1``."""
    if not _VERSION.fullmatch(version):
        raise NameProblem(f"the version {version!r}: v1alpha1, v1beta1, v1, v2 and so on")


def version_class(version: str) -> str:
    """The suffix of the class names of a version: ``V1beta1`` for ``v1beta1``."""
    return version.capitalize()
