"""policies.py: rules for all pods of a cluster, without a controller: CEL where it is enough, a webhook for the rest.

A rule about nothing but the object is a ValidatingAdmissionPolicy (policies.yaml): the API server evaluates it by
itself, so it is never down. Where another object decides (here the Namespace says where images may come from), or where
something has to be filled in, this webhook is asked.

python examples/policies/policies.py run --embedded
"""

import setpoint as sp
from setpoint.models.core_v1 import Container, Namespace, Pod

REGISTRIES = "policies.example.com/registries"
"""The annotation of a Namespace: the registries of its images, with commas between. Without it, all are allowed."""
TEAM = "policies.example.com/team"
"""The label of a Namespace that its pods get, too."""


async def fill_in(pod: Pod, review: sp.Review[Pod]) -> None:
    """Gives a pod the team of its Namespace, for reports of costs."""
    namespace = await review.get(Namespace, review.namespace)
    if namespace is not None and TEAM in namespace.labels:
        pod.metadata.labels.setdefault(TEAM, namespace.labels[TEAM])


def registry(container: Container) -> str:
    first, slash, _ = (container.image or "").partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"


async def check(pod: Pod, review: sp.Review[Pod]) -> None:
    """Refuses images from registries that the Namespace does not name."""
    namespace = await review.get(Namespace, review.namespace)
    if namespace is None or REGISTRIES not in namespace.annotations:
        return
    allowed = sorted(name.strip() for name in namespace.annotations[REGISTRIES].split(","))
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for place, container in enumerate(containers):
            if registry(container) not in allowed:
                review.not_supported(f"spec.{field}[{place}].image", container.image, allowed)


admission = sp.Admission(Pod).reads(Namespace).defaults(fill_in, on=("create",)).validates(check)

if __name__ == "__main__":
    sp.main(admission, name="policies.example.com")
