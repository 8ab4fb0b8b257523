"""The event loop of the cells: one that lives as long as the kernel. It runs while a cell awaits, and between cells."""

import functools
import os
import sys
import threading

from kernel_errors import describe

# Tasks that break the loop between cells, one after the other, are given up after so many.
MOST_FAULTS = 100


class EventLoop:
    def __init__(self, changes):
        self.asyncio = self.loop = self.task = None
        # Whether a cell runs, and whether the one that awaits was interrupted.
        self.inside = self.pressed = False
        changes.after('asyncio', self.loaded)

    def loaded(self, asyncio):
        """User code has imported asyncio, in this very cell perhaps."""
        self.asyncio = asyncio
        base = asyncio.base_events.BaseEventLoop
        for owner, name in ((base, 'run_forever'), (base, 'run_until_complete'), (asyncio.runners.Runner, 'run')):
            setattr(owner, name, self.apart(getattr(owner, name)))
        asyncio.run = asyncio.runners.run = self.apart(asyncio.runners.run)
        if self.inside:
            self.begin()

    def get(self):
        """The loop, made anew where user code has closed it."""
        if self.asyncio is None:
            __import__('asyncio')
        if self.loop is None or self.loop.is_closed():
            self.loop = self.asyncio.SelectorEventLoop()
            self.asyncio.set_event_loop(self.loop)
        return self.loop

    def begin(self):
        """A cell begins: it may make tasks without an await, so the loop says that it is running."""
        self.inside = True
        if self.asyncio and threading.current_thread() is threading.main_thread():
            self.asyncio._set_running_loop(self.get())

    def end(self):
        self.inside = False
        if self.asyncio:
            self.asyncio._set_running_loop(None)

    def apart(self, call):
        """`asyncio.run` and its like work in a cell as in a program: for that time no loop of ours is running."""
        @functools.wraps(call)
        def run(*words, **named):
            asyncio, loop = self.asyncio, self.loop
            if loop is None or asyncio._get_running_loop() is not loop:
                return call(*words, **named)
            current, awaited = asyncio.current_task(loop), self.task
            if current:
                # An interrupt is meant for what runs now.
                asyncio._leave_task(loop, current)
                self.task = None
            asyncio._set_running_loop(None)
            try:
                return call(*words, **named)
            finally:
                asyncio._set_running_loop(loop)
                if current:
                    asyncio._enter_task(loop, current)
                    self.task = awaited
        return run

    def run(self, coroutine):
        """The value of what a cell awaits."""
        loop = self.get()
        task = self.task = loop.create_task(coroutine)
        self.pressed = False
        try:
            return loop.run_until_complete(task)
        except self.asyncio.CancelledError as error:
            if self.pressed:
                raise KeyboardInterrupt().with_traceback(error.__traceback__) from None
            raise
        finally:
            self.task = None
            if not task.done():
                # Another task was interrupted; this cell is over all the same, and does not go on with the next one.
                task.cancel()
                try:
                    loop.run_until_complete(task)
                except BaseException:
                    pass

    def cancel(self, frame):
        """Whether the cell's task was cancelled: an exception where the loop waits would leave that to run on."""
        module = frame.f_globals.get('__name__', '')
        if self.task is None or self.pressed or not (module == 'selectors' or module.startswith('asyncio.')):
            return False
        self.pressed = True
        self.task.cancel()
        self.loop.call_soon_threadsafe(lambda: None)
        return True

    def wait(self, fd):
        """Runs what the cells have left until a descriptor can be read; at once where there is no loop."""
        pid = os.getpid()
        for _ in range(MOST_FAULTS):
            if self.loop is None or self.loop.is_closed():
                return
            ready = self.loop.create_future()
            self.loop.add_reader(fd, lambda ready=ready: ready.done() or ready.set_result(None))
            try:
                self.loop.run_until_complete(ready)
                return
            except BaseException as error:
                # A task left the loop, by sys.exit() for example.
                if os.getpid() == pid and not isinstance(error, RuntimeError):
                    sys.stderr.write(describe(error)['traceback'])
            finally:
                if os.getpid() != pid:
                    # A child that left its task.
                    os._exit(0)
                self.loop.is_closed() or self.loop.remove_reader(fd)
