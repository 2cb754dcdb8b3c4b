"""Model and Object: the typed classes for everything that Kubernetes serves.

A `Model` is a `msgspec.Struct` whose wire names are camelCase. An `Object` is a model that has ``metadata`` and a REST
address. Generated kinds and users' own classes are of these same types, and all other code treats them alike.

Three rules hold for every model:

* **Absent is not null.** A field that is ``None`` is left out on the wire. A field whose annotation includes
  ``msgspec.UnsetType`` may be null: in that case ``None`` is sent as ``null``, and ``UNSET`` is left out.
* **Defaults are not shared.** A struct given as a default (``status: MykindStatus = MykindStatus()``) is copied for
  each instance.
* **Metadata is always present.** ``metadata`` of an object is never ``None``.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    dataclass_transform,
)

import msgspec
from msgspec import NODEFAULT, Struct, field

from setpoint.meta.model_fields import is_foreign, wire_name
from setpoint.meta.object_key import ObjectKey
from setpoint.meta.object_meta import ObjectMeta, OwnerReference
from setpoint.meta.resource import Resource

P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)
_UNRESOURCED = "this class names no resource: give it group=, version= and kind= or use a generated kind"


class ClassKeywords(TypedDict, total=False):
    """The class keywords of a `Model`: ``rules``, and those of `msgspec.Struct`."""

    rules: Sequence[Any]
    rename: str | Callable[[str], str | None] | Mapping[str, str] | None
    omit_defaults: bool
    forbid_unknown_fields: bool
    frozen: bool
    eq: bool
    order: bool
    kw_only: bool
    tag: bool | str | int | Callable[[str], str | int] | None
    tag_field: str | None
    dict: bool
    weakref: bool
    gc: bool
    repr_omit_defaults: bool
    array_like: bool
    cache_hash: bool


class ModelMeta(msgspec.StructMeta):
    """Makes keyword-only structs, and gives each instance its own copy of a default that can be changed: a struct,
    a list, a dict or a set.

    The class keyword ``rules`` (CEL rules, see `setpoint.crd.ValidationRule`) is kept as ``__rules__``, for the schema
    builder.
    """

    if TYPE_CHECKING:
        # So that type checkers find misspelt class keywords. mypy does not look at those of classes with a metaclass.
        def __new__(
            cls,
            name: str,
            bases: tuple[type, ...],
            namespace: dict[str, Any],
            /,
            **keywords: Unpack[ClassKeywords],
        ) -> Any: ...

    else:

        def __new__(cls, name, bases, namespace, **options):
            return made_by(cls, name, bases, namespace, options)


def made_by(
    metaclass: type[ModelMeta],
    name: str,
    bases: tuple[type, ...],
    namespace: dict[str, Any],
    options: dict[str, Any],
    *,
    also: Iterable[str] = (),
) -> Any:
    """Creates the class for a class statement, as `ModelMeta` does. ``also`` are the further keywords of ``metaclass``,
    which the error message may suggest.

    Raises:
        TypeError: a class keyword is unknown; the message names the class and the likely intended keyword.
    """
    for word in options:
        if word not in ClassKeywords.__annotations__:
            matches = get_close_matches(word, (*ClassKeywords.__annotations__, *also), n=1)
            hint = f"; did you mean {matches[0]}=?" if matches else ""
            raise TypeError(f"class {name}: there is no class keyword {word}={hint}")
    options.setdefault("kw_only", True)
    if "rules" in options:
        namespace["__rules__"] = options.pop("rules")
    annotated = _annotations(namespace)
    for attribute, default in list(namespace.items()):
        is_mutable = (isinstance(default, list | dict | set) and default) or isinstance(default, Struct)
        if (is_mutable or is_foreign(type(default))) and "ClassVar" not in str(annotated.get(attribute, "ClassVar")):
            namespace[attribute] = field(default_factory=_copier(default))
    return msgspec.StructMeta.__new__(metaclass, name, bases, namespace, **options)


def _annotations(namespace: Mapping[str, Any]) -> Mapping[str, Any]:
    """The annotations of a class that is being made. From Python 3.14 on they are a function, except in modules with
    ``from __future__ import annotations``.
    """
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        from annotationlib import Format, call_annotate_function, get_annotate_from_class_namespace

        annotate = get_annotate_from_class_namespace(namespace)
        return {} if annotate is None else call_annotate_function(annotate, Format.FORWARDREF)
    annotations: Mapping[str, Any] = namespace.get("__annotations__", {})
    return annotations


def _copier(default: Any) -> Callable[[], Any]:
    """A function that returns a new equal instance each time: the class itself if it makes one without arguments, as
    for most defaults, and otherwise one that copies ``default``, which takes many times as long.
    """
    kind = type(default)
    if isinstance(default, Struct) and _makes_equal_ones(kind) and kind() == default:
        return kind
    return lambda: copy.deepcopy(default)


def _makes_equal_ones(kind: type[Struct]) -> bool:
    """Whether the class has a default for each field, and calls no function of its author to make an instance."""
    defaults = kind.__struct_defaults__
    return (
        not hasattr(kind, "__post_init__")
        and len(defaults) == len(kind.__struct_fields__)
        and all(item is not NODEFAULT and isinstance(getattr(item, "factory", list), type) for item in defaults)
    )


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))  # for type checkers: all subclasses are kw_only
class Model(Struct, metaclass=ModelMeta, kw_only=True, rename=wire_name):
    """The base class of every typed part of an object: specs, statuses and their parts.

    Construction takes keywords only and does not validate; decoding does. Fields that the class does not have are
    ignored when decoding, but survive updates, because updates are patches computed on the raw JSON.
    """

    __rules__: ClassVar[Sequence[Any]] = ()


class ApiModel(Model, omit_defaults=True):
    """The base class of the generated models: a field that has its zero value is left out on the wire, as in Go."""


class _Maker(Protocol[P, T_co]):
    def __call__(
        self,
        name: str,
        namespace: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T_co: ...


class _Named:
    """The descriptor behind ``Kind.named``, which carries the constructor's signature for type checkers."""

    def __get__(self, instance: object, owner: Callable[P, T_co]) -> _Maker[P, T_co]:
        def make(
            name: str,
            namespace: str = "",
            labels: Mapping[str, str] | None = None,
            annotations: Mapping[str, str] | None = None,
            *args: P.args,
            **kwargs: P.kwargs,
        ) -> T_co:
            instance = owner(*args, **kwargs)
            metadata = cast("Object", instance).metadata
            metadata.name = name
            metadata.namespace = namespace
            if labels:
                metadata.labels.update(labels)
            if annotations:
                metadata.annotations.update(annotations)
            return instance

        return make


class Object(Model, dict=True):
    """An object that an API server stores. It has ``metadata``, and its class has a `Resource`.

    Objects that came from a server remember the JSON from which they were decoded (`setpoint.meta.raw_of`), so that a
    patch can leave alone the fields that this class does not declare.
    """

    resource: ClassVar[Resource]
    named: ClassVar[_Named] = _Named()

    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    @property
    def api_version(self) -> str:
        """``group/version``, or ``version`` alone for the core group."""
        return resource_of(type(self)).api_version

    @property
    def kind(self) -> str:
        return resource_of(type(self)).kind

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The namespace, ``""`` for a cluster-scoped object."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations

    @property
    def key(self) -> ObjectKey:
        """``namespace/name``, or ``name`` if there is no namespace."""
        return ObjectKey.of(self.metadata.namespace, self.metadata.name)

    @property
    def is_deleting(self) -> bool:
        """Whether deletion of the object was requested; the object is removed together with its last finalizer."""
        return self.metadata.deletion_timestamp is not None

    def owner_reference(self, *, controller: bool = True, block_owner_deletion: bool = True) -> OwnerReference:
        """A reference to this object, for the ``metadata.owner_references`` of objects that it owns.

        Raises:
            ValueError: the object has no uid yet; only an object that a server has stored can own other objects.
        """
        if not self.metadata.uid:
            raise ValueError(
                f"{self.kind} {self.key} has no uid: it was not read from a server, so it can't be an owner"
            )
        return OwnerReference(
            api_version=self.api_version,
            kind=self.kind,
            name=self.name,
            uid=self.uid,
            controller=True if controller else None,
            block_owner_deletion=True if block_owner_deletion else None,
        )

    if TYPE_CHECKING:

        def __init_subclass__(cls, *, resource: Resource = ...) -> None: ...


def resource_of(kind: type[Object]) -> Resource:
    """The `Resource` of a class.

    Raises:
        TypeError: the class has no resource (it is an abstract base), or ``kind`` is not a class.
    """
    try:
        return kind.resource
    except AttributeError:
        if not isinstance(kind, type):
            raise TypeError(
                f"a kind is a class such as setpoint.models.core_v1.Pod, not {kind!r}; the class for a name is "
                "setpoint.client.dynamic(await client.rest_mapper.resource('pods'))"
            ) from None
        raise TypeError(f"{kind.__name__}: {_UNRESOURCED}") from None
