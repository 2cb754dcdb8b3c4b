"""OwnerReferencesPermissionEnforcement: who may set owner references, and which of them may block a deletion.

The plugin is off by default in Kubernetes, and on in OpenShift. The rules are those of
plugin/pkg/admission/gc/gc_admission.go.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.requests.admission import AdmissionAttributes

OWNER_REFERENCES: Final = "OwnerReferencesPermissionEnforcement"
JsonObject = dict[str, Any]


def check_owner_references(attributes: AdmissionAttributes) -> None:
    """Refuses a change of an object's owner references unless the user may delete the object, and a new reference with
    ``blockOwnerDeletion`` unless the user may update the owner's finalizers. To create an object, only the
    latter is needed, because an object without owners could have been created, too. Statuses of pods are exempt.

    Raises ApiStatusError (403).
    """
    authorizer = attributes.call.state.authorizer
    resource = attributes.served.resource
    if authorizer is None or attributes.obj is None:
        return
    if (resource.group, resource.plural, attributes.subresource) == ("", "pods", "status"):
        return
    old = [] if attributes.old is None else _owners(attributes.old)
    new = _owners(attributes.obj)
    if new == old:
        return
    user, namespace = attributes.call.user, attributes.namespace if resource.namespaced else ""
    if attributes.old is not None:
        deletion = Attributes(
            *(user, "delete", resource.group, resource.version, resource.plural),
            *(attributes.subresource, namespace, attributes.name),
        )
        if not authorizer.authorize(deletion).allowed:
            raise attributes.forbidden("cannot set an ownerRef on a resource you can't delete: , <nil>")
    blocking = {owner.get("uid") for owner in old if owner.get("blockOwnerDeletion")}
    for owner in new:
        if not owner.get("blockOwnerDeletion") or owner.get("uid") in blocking:
            continue
        api_version, kind = str(owner.get("apiVersion") or ""), str(owner.get("kind") or "")
        group, _, version = api_version.rpartition("/")
        served = attributes.call.state.registry.find_kind(group, version, kind)
        if served is None:
            raise attributes.forbidden(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion "
                f'{api_version} Kind {kind}: no matches for kind "{kind}" in version "{api_version}"'
            )
        of = served.resource
        update = Attributes(
            *(user, "update", of.group, of.version, of.plural, "finalizers"),
            *(namespace if of.namespaced else "", str(owner.get("name") or "")),
        )
        if not authorizer.authorize(update).allowed:
            raise attributes.forbidden(
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: "
                ", <nil>"
            )


def _owners(obj: JsonObject) -> list[JsonObject]:
    owners = (obj.get("metadata") or {}).get("ownerReferences") or []
    return [owner for owner in owners if isinstance(owner, dict)]
