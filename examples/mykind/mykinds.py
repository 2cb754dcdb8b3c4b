"""mykinds.py: Mykind grows up. `numpods` became `replicas`, and pods are made from a template.

python examples/mykind/mykinds.py run --embedded      # webhooks and all; no cluster needed
setpoint webhook examples/mykind/mykinds.py ...       # the webhooks of a real cluster
"""

from typing import Annotated

import setpoint as sp
from setpoint.models.core_v1 import Container, Pod, PodSpec, PodTemplateSpec, ResourceRequirements

# -- the API: two versions of one kind ---------------------------------------------------------------------------------


class MykindStatus(sp.ConditionedStatus):
    ready: int = 0


class MykindV1alpha1Spec(sp.Model):
    numpods: Annotated[int, sp.Field(ge=0, description="how many pods to run")] = 1


class MykindV1alpha1(
    sp.CustomResource,
    group="grp.example.com",
    version="v1alpha1",
    kind="Mykind",
    storage=False,
    short_names=("mk",),
    deprecated="grp.example.com/v1alpha1 Mykind is deprecated; v1alpha2 has replicas where this has numpods",
    columns=(
        sp.Column("Wanted", ".spec.numpods"),
        sp.Column("Ready", ".status.ready"),
        sp.Column("Age", ".metadata.creationTimestamp"),
    ),
    scale=sp.ScaleSubresource(spec_replicas=".spec.numpods", status_replicas=".status.ready"),
):
    """Keeps as many pods running as its spec says."""

    spec: MykindV1alpha1Spec
    status: MykindStatus = MykindStatus()


class MykindSpec(sp.Model):
    replicas: Annotated[int, sp.Field(ge=0, description="how many pods to run")] = 1
    template: PodTemplateSpec | None = None
    """The template of the pods; by default busybox."""


class Mykind(
    sp.CustomResource,
    group="grp.example.com",
    version="v1alpha2",
    short_names=("mk",),
    columns=(
        sp.Column("Wanted", ".spec.replicas"),
        sp.Column("Ready", ".status.ready"),
        sp.Column("Image", ".spec.template.spec.containers[0].image"),
        sp.Column("Age", ".metadata.creationTimestamp"),
    ),
    scale=sp.ScaleSubresource(spec_replicas=".spec.replicas", status_replicas=".status.ready"),
    conversions=(sp.Conversion(MykindV1alpha1).rename("spec.numpods", "spec.replicas").add("spec.template"),),
):
    """Keeps as many pods running as its spec says, all made from one template."""

    spec: MykindSpec
    status: MykindStatus = MykindStatus()


# -- what is said about an object before it is stored ------------------------------------------------------------------


def default_template() -> PodTemplateSpec:
    """Pods like those of the first release, so that those that run need not be replaced."""
    small = ResourceRequirements(requests={"cpu": "10m", "memory": "16Mi"})
    return PodTemplateSpec(
        metadata=sp.ObjectMeta(labels={"mylabel": "mylabel"}),
        spec=PodSpec(containers=[Container(name="main", image="busybox", resources=small)]),
    )


def fill_in(mykind: Mykind) -> None:
    if mykind.spec.template is None:
        mykind.spec.template = default_template()


def judge(mykind: Mykind, review: sp.Review[Mykind]) -> None:
    """The rules that a schema can't express. It can express that replicas is not negative: see Field(ge=0)."""
    policy = mykind.spec.template.spec.restart_policy if mykind.spec.template else None
    if policy not in (None, "Always"):
        review.invalid("spec.template.spec.restartPolicy", policy, "must be Always: a Mykind keeps its pods running")
    if mykind.spec.replicas == 0:
        review.warn("spec.replicas is 0: nothing will run")


admission = sp.Admission(Mykind).defaults(fill_in).validates(judge)

# -- the controller ----------------------------------------------------------------------------------------------------


def pod_of(mykind: Mykind, number: int) -> Pod:
    template = mykind.spec.template or default_template()
    labels, annotations = template.metadata.labels, template.metadata.annotations
    metadata = sp.ObjectMeta(name=f"{mykind.name}-{number}", labels=labels, annotations=annotations)
    return Pod(metadata=metadata, spec=template.spec)


async def reconcile(mykind: Mykind, ctx: sp.Context) -> None:
    pods = await ctx.keep(Pod, [pod_of(mykind, number) for number in range(mykind.spec.replicas)])
    mykind.status.ready = sum(pod.is_ready for pod in pods)


# No webhook need have been there: on its own copy, the controller fills in and judges by the same functions.
controller = sp.Controller(Mykind, reconcile).defaults(fill_in).validates(judge).owns(Pod)

if __name__ == "__main__":
    sp.main(controller, admission)  # run | manifests
