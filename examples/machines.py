"""machines.py: one machine in a cloud for every Machine, made once wherever the program dies.

The cloud numbers its machines itself. A create whose answer is lost, or after which the process dies, leaves a machine
that nothing knows by its number. The journal writes the intent on the Machine before, and the number after; what was
interrupted is found again by its tag.

python examples/machines.py run --embedded
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import setpoint as sp


class MachineStatus(sp.ConditionedStatus):
    number: str = ""


class Machine(sp.CustomResource, group="cloud.example.com", version="v1"):
    """A machine in the cloud."""

    status: MachineStatus = MachineStatus()


class Cloud:
    """Stands for the client of a real cloud."""

    def __init__(self) -> None:
        self.machines: dict[str, str] = {}
        self._count = 0

    async def create(self, tag: str) -> str:
        self._count += 1
        number = f"m-{self._count}"
        self.machines[number] = tag
        return number

    async def find(self, tag: str) -> str | None:
        return next((number for number, owner in self.machines.items() if owner == tag), None)

    async def delete(self, number: str) -> None:
        self.machines.pop(number, None)


journal = sp.Journal("cloud.example.com/machine", visible_within=60)


async def reconcile(machine: Machine, ctx: sp.Context) -> None:
    cloud = ctx.state(Cloud)
    machine.status.number = await journal.ensure(ctx, create=cloud.create, find=cloud.find)


async def clean_up(machine: Machine, ctx: sp.Context) -> None:
    cloud = ctx.state(Cloud)
    await journal.remove(ctx, find=cloud.find, delete=cloud.delete)


controller = sp.Controller(Machine, reconcile).finalize(clean_up)


@asynccontextmanager
async def lifespan(program: sp.Program[None]) -> AsyncGenerator[Cloud]:
    yield Cloud()


if __name__ == "__main__":
    sp.main(controller, lifespan=lifespan)
