"""A thread with an event loop in it, for code that can't await."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

from setpoint.concurrency import end

T = TypeVar("T")


class Portal:
    """Runs coroutines in another thread's event loop and waits for them.

    By default it starts a thread whose loop runs all the time. So it works where a loop is running already (as in
    notebooks), and idle connections are maintained between calls. With ``loop`` it uses that loop, and must be created
    in the loop's thread; coroutines see the context variables of the calling thread. ``closed`` is the message of the
    error after `close`. An interrupt (Ctrl-C) during a wait cancels the coroutine.

    In a forked process, which has none of its parent's other threads, a portal with a thread of its own starts it
    anew.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop | None = None, *, closed: str = "this blocking client was closed"
    ) -> None:
        self._own = loop is None
        self._closed = False
        self._closed_message = closed
        self._starting = threading.Lock()
        if loop is None:
            self._start()
        else:
            self._loop = loop
            self._thread = threading.current_thread()
            self._running: set[Future[Any]] = set()
            self._process = os.getpid()

    def _start(self) -> None:
        # A loop that came with a fork is left as it is: to close it would take its sockets from the parent's.
        self._loop = asyncio.new_event_loop()
        self._running = set()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="setpoint-blocking", daemon=True)
        self._thread.start()
        self._process = os.getpid()  # the last step: another thread that sees it needs all the others

    def _check_process(self) -> None:
        if self._process == os.getpid():
            return
        if not self._own:
            raise RuntimeError("this blocking client belongs to an event loop of another process")
        with self._starting:
            if self._process != os.getpid():
                self._start()

    @property
    def is_open(self) -> bool:
        return not self._closed and not self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs ``work`` in the portal's loop, and returns its result or raises its exception.

        Raises:
            RuntimeError: the portal is closed, its loop is in another process, or the caller runs in its thread.
        """
        try:
            if not self.is_open:
                raise RuntimeError(self._closed_message)
            self._check_process()
            if threading.current_thread() is self._thread:
                raise RuntimeError(
                    "a blocking client was used from within its own event loop; use the asynchronous one"
                )
        except RuntimeError:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._running.add(future)
        if self._closed:  # meanwhile
            future.cancel()
        try:
            return future.result()
        except CancelledError:
            raise RuntimeError(self._closed_message) from None
        except BaseException:
            future.cancel()
            raise
        finally:
            self._running.discard(future)

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """The items of an asynchronous iterator, which is closed when the iteration ends or is abandoned."""
        process = os.getpid()
        try:
            while True:
                try:
                    item = self.run(_next(items))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            close = getattr(items, "aclose", None)
            if close is not None and self.is_open and process == os.getpid():
                self.run(close())

    @contextmanager
    def inside(self, context: AbstractAsyncContextManager[T]) -> Iterator[T]:
        """``context`` as a synchronous context manager. A single task enters and leaves it."""
        leaving = asyncio.Event()
        entered: asyncio.Future[T] = self.run(_future())  # made in its loop
        process = self._process
        done = asyncio.run_coroutine_threadsafe(_hold(context, entered, leaving), self._loop)
        try:
            yield self.run(_wait(entered))
        finally:
            if process == os.getpid():  # in a forked process the task does not exist
                self._loop.call_soon_threadsafe(leaving.set)
                done.result()

    def close(self) -> None:
        """Cancels running coroutines, and ends the thread if the portal owns it. A second call has no effect."""
        self._closed = True
        if self._process != os.getpid():
            return
        if not self._own:
            for future in tuple(self._running):
                future.cancel()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(end(asyncio.all_tasks(loop)))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)


async def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


async def _wait(future: asyncio.Future[T]) -> T:
    return await future


async def _hold(context: AbstractAsyncContextManager[T], entered: asyncio.Future[T], leaving: asyncio.Event) -> None:
    try:
        async with context as value:
            if not entered.done():
                entered.set_result(value)
            await leaving.wait()
    except Exception as problem:
        if entered.done():
            raise
        entered.set_exception(problem)
