"""Owner references, with rules that are checked before the server or the garbage collector would enforce them."""

from __future__ import annotations

import copy
from typing import TypeVar

from setpoint.meta import Object, OwnerReference, resource_of

K = TypeVar("K", bound=Object)


class OwnerError(ValueError):
    """An object cannot own a dependent: the object is namespaced and the dependent is not in its namespace, or the
    dependent already has another controller.
    """


class AdoptionError(OwnerError):
    """An object with the name of a wanted child exists but does not belong to the owner."""


def set_controller_reference(owner: Object, dependent: Object, *, block_owner_deletion: bool = True) -> bool:
    """Makes ``owner`` the managing controller of ``dependent``; returns whether that changed anything.

    An existing reference to the same owner is replaced, even if it names another version.

    Raises:
        OwnerError: another object is already the controller, or `check_scope` fails.
        ValueError: ``owner`` has no uid.
    """
    present = dependent.metadata.controller
    reference = owner.owner_reference(controller=True, block_owner_deletion=block_owner_deletion)
    if present is not None and present.uid != reference.uid:
        raise OwnerError(
            f"{dependent.kind} {dependent.key} is controlled by {present.kind} {present.name} already, "
            f"so {owner.kind} {owner.key} can't become its controller"
        )
    return _set(owner, dependent, reference)


def set_owner_reference(owner: Object, dependent: Object, *, block_owner_deletion: bool = False) -> bool:
    """Makes ``owner`` one of the owners of ``dependent``, but not its controller; returns whether that changed
    anything.

    Raises:
        OwnerError: `check_scope` fails.
        ValueError: ``owner`` has no uid.
    """
    return _set(owner, dependent, owner.owner_reference(controller=False, block_owner_deletion=block_owner_deletion))


def owned_copy(owner: Object, dependent: K) -> K:
    """A copy of ``dependent`` that ``owner`` controls. If the kind of ``dependent`` is namespaced and ``dependent``
    names no namespace, the copy is in the owner's namespace.

    Raises:
        OwnerError, ValueError: as for `set_controller_reference`.
    """
    made = placed_copy(owner, dependent)
    set_controller_reference(owner, made)
    return made


def placed_copy(owner: Object, dependent: K) -> K:
    """A copy of ``dependent``. If the kind of ``dependent`` is namespaced and ``dependent`` names no namespace, the
    copy is in the owner's namespace.
    """
    made = copy.copy(dependent)
    made.metadata = copy.copy(dependent.metadata)
    if not made.metadata.namespace and resource_of(type(dependent)).namespaced:
        made.metadata.namespace = owner.namespace
    return made


def remove_owner_reference(owner: Object, dependent: Object) -> bool:
    """Removes every reference to ``owner``; returns whether there was one."""
    kept = [reference for reference in dependent.metadata.owner_references if not _same(reference, owner)]
    if len(kept) == len(dependent.metadata.owner_references):
        return False
    dependent.metadata.owner_references = kept
    return True


def is_owned_by(dependent: Object, owner: Object, *, controller: bool = False) -> bool:
    """Whether ``owner`` (by uid) is among the owners of ``dependent``; with ``controller``, whether ``owner`` controls
    ``dependent``.
    """
    return any(
        reference.uid == owner.uid and (reference.controller or not controller)
        for reference in dependent.metadata.owner_references
    )


def is_same_owner(reference: OwnerReference, owner: Object) -> bool:
    """Whether ``reference`` names an object with the kind and name of ``owner``, with any uid and version."""
    resource = resource_of(type(owner))
    group, slash, _ = reference.api_version.partition("/")
    return (reference.kind, group if slash else "", reference.name) == (resource.kind, resource.group, owner.name)


def check_scope(owner: Object, dependent: Object) -> None:
    """Checks that the owner is in the dependent's namespace or cluster-scoped. In any other case the garbage collector
    would delete the dependent.

    Raises:
        OwnerError: the owner is namespaced, and the dependent is in another namespace or cluster-scoped.
    """
    if not resource_of(type(owner)).namespaced:
        return
    if not resource_of(type(dependent)).namespaced:
        raise OwnerError(
            f"{owner.kind} {owner.key} is namespaced and can't own the cluster-scoped {dependent.kind} "
            f"{dependent.name}: clean such objects up with finalize()"
        )
    if dependent.namespace != owner.namespace:
        raise OwnerError(
            f"{owner.kind} {owner.key} can't own {dependent.kind} {dependent.key}: "
            "owner and dependent must be in one namespace. Write it with controlled=False and a mark of its owner, and "
            "clean such objects up with finalize()"
        )


def _set(owner: Object, dependent: Object, reference: OwnerReference) -> bool:
    check_scope(owner, dependent)
    references = dependent.metadata.owner_references
    for place, present in enumerate(references):
        if _same(present, owner):
            if present == reference:
                return False
            dependent.metadata.owner_references = [*references[:place], reference, *references[place + 1 :]]
            return True
    dependent.metadata.owner_references = [*references, reference]
    return True


def _same(reference: OwnerReference, owner: Object) -> bool:
    return is_same_owner(reference, owner) and (not owner.uid or reference.uid == owner.uid)
