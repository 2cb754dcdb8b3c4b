"""mykind.py: keep N pods running for every Mykind.

python examples/mykind.py run --embedded      # no cluster needed
python examples/mykind.py run                 # against the cluster of your kubeconfig
python examples/mykind.py run --processes 4   # on four cores
python examples/mykind.py manifests | kubectl apply -f -
"""

from typing import Annotated

import setpoint as sp
from setpoint.models.core_v1 import Container, Pod, PodSpec, ResourceRequirements

SMALL = ResourceRequirements(requests={"cpu": "10m", "memory": "16Mi"})


class MykindSpec(sp.Model):
    numpods: Annotated[int, sp.Field(ge=0, description="how many pods to run")] = 1


class MykindStatus(sp.ConditionedStatus):  # brings conditions and observedGeneration
    ready: int = 0


class Mykind(
    sp.CustomResource,
    group="grp.example.com",
    version="v1alpha1",
    short_names=("mk",),
    columns=(
        sp.Column("Wanted", ".spec.numpods"),
        sp.Column("Ready", ".status.ready"),
        sp.Column("Age", ".metadata.creationTimestamp"),
    ),
    scale=sp.ScaleSubresource(spec_replicas=".spec.numpods", status_replicas=".status.ready"),
):
    """Keeps as many pods running as its spec says."""

    spec: MykindSpec
    status: MykindStatus = MykindStatus()


async def reconcile(mykind: Mykind, ctx: sp.Context) -> None:
    """Looks at what is wanted and at what is there, and never at what happened."""
    main = Container(name="main", image="busybox", resources=SMALL)
    spec = PodSpec(containers=[main])
    names = [f"{mykind.name}-{i}" for i in range(mykind.spec.numpods)]
    pods = await ctx.keep(Pod, [Pod.named(name, spec=spec) for name in names])
    mykind.status.ready = sum(pod.is_ready for pod in pods)  # written once, at the end, if it changed


controller = sp.Controller(Mykind, reconcile).owns(Pod)

if __name__ == "__main__":
    sp.main(controller)  # run | manifests, with the usual flags
