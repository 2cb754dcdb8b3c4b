"""Concurrency: tasks, deadlines and semaphores that can be cancelled safely at any moment. Imports only asyncio."""

from setpoint.concurrency.deadline import Deadline
from setpoint.concurrency.semaphore import FairSemaphore
from setpoint.concurrency.single_flight import Shared
from setpoint.concurrency.stack_traces import stack_of, stack_of_thread, task_report
from setpoint.concurrency.tasks import TaskScope, end, every, first, until

__all__ = [
    "Deadline",
    "FairSemaphore",
    "Shared",
    "TaskScope",
    "end",
    "every",
    "first",
    "stack_of",
    "stack_of_thread",
    "task_report",
    "until",
]
