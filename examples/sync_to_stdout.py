"""sync_to_stdout.py: a controller put together by hand, as controllers are written without a framework: an informer
with its indexer, a work queue of keys, and N workers that print what the indexer has for a key.

setpoint server --write-kubeconfig ./kubeconfig &
python examples/sync_to_stdout.py --kubeconfig ./kubeconfig &
kubectl --kubeconfig ./kubeconfig run mypod --image=nginx
"""

import argparse
import asyncio
import contextlib
import logging
import random
import sys
from typing import TextIO

from setpoint.apps.program_runner import run
from setpoint.cache import HandlerRegistration, Lister, Scope, SharedInformer, Store
from setpoint.client import Client
from setpoint.meta import ObjectKey, resource_of
from setpoint.models.core_v1 import Pod
from setpoint.workqueue import RateLimitingQueue, ShutDown, default_controller_rate_limiter

MAX_RETRIES = 5
logger = logging.getLogger("sync_to_stdout")


class Controller:
    """Prints every Pod of the indexer when it changes. ``out`` is where to; a print that fails is tried again."""

    def __init__(
        self, queue: RateLimitingQueue[ObjectKey], indexer: Store, informer: SharedInformer, out: TextIO = sys.stdout
    ) -> None:
        self.queue = queue
        self.lister = Lister(indexer, Pod, informer.scope.resource)
        self.informer = informer
        self.out = out

    async def run(self, workers: int) -> None:
        """Runs the informer, and the workers once the cache has synced, until it is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.informer.run())
                await self.informer.wait_synced()
                for _ in range(workers):
                    group.create_task(self.work())
        finally:
            self.queue.shut_down()

    async def work(self) -> None:
        """One worker. The queue gives no key to two workers at once, so Pods are synced side by side, one Pod never."""
        with contextlib.suppress(ShutDown):
            while True:
                key = await self.queue.get()
                try:
                    self.sync_to_stdout(key)
                except Exception as error:  # noqa: BLE001 - any failure is tried again
                    self.retry(key, error)
                else:
                    self.queue.forget(key)  # the next failure of this key starts with a short delay again
                finally:
                    self.queue.done(key)

    def sync_to_stdout(self, key: ObjectKey) -> None:
        """The business logic. It looks at what is there now, not at what happened; it does not retry by itself."""
        pod = self.lister.try_get(key)
        if pod is None:
            print(f"Pod {key} does not exist anymore", file=self.out, flush=True)
        else:  # a Pod that was made again under the same name has another uid
            print(f"Sync/Add/Update for Pod {pod.name} ({pod.uid})", file=self.out, flush=True)

    def retry(self, key: ObjectKey, error: Exception) -> None:
        """Puts the key back with back-off, five times; then it is dropped, until its Pod changes again."""
        if self.queue.num_requeues(key) < MAX_RETRIES:
            logger.info("error syncing Pod %s: %s", key, error)
            self.queue.add_rate_limited(key)
            return
        self.queue.forget(key)
        logger.error("dropping Pod %s out of the queue: %s", key, error)


def controller_for(client: Client, namespace: str, out: TextIO = sys.stdout) -> Controller:
    """Binds the queue to the cache: a change in the cache adds the key of its Pod to the queue, and nothing else."""
    queue: RateLimitingQueue[ObjectKey] = RateLimitingQueue(default_controller_rate_limiter(), name="pods")
    informer = SharedInformer(client, Scope(resource_of(Pod), namespace), random=random.Random())
    handlers = HandlerRegistration(
        informer.store,
        on_add=lambda new, initial: queue.add(new.key),
        on_update=lambda old, new: queue.add(new.key),
        on_delete=lambda old, final_state_unknown: queue.add(old.key),
    )
    informer.add(handlers)
    return Controller(queue, informer.store, informer, out)


async def main(kubeconfig: str | None, namespace: str, workers: int) -> None:
    async with Client.from_environment(kubeconfig, field_manager="sync-to-stdout") as client:
        controller = controller_for(client, namespace)
        # The cache may be filled beforehand. The first list says that this Pod is not there, and it is synced, too.
        controller.informer.store.add(Pod.named("mypod", namespace))
        await controller.run(workers)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kubeconfig", help="default: KUBECONFIG, ~/.kube/config, or the pod this runs in")
    options.add_argument("--namespace", default="default")
    options.add_argument("--workers", type=int, default=1, help="how many Pods are synced side by side")
    logging.basicConfig(format="%(message)s")
    run("sync_to_stdout.py", main(**vars(options.parse_args())))
