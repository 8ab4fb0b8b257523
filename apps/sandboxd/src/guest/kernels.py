"""Holds the Python kernel of `run_code`: a process of the user, apart from the agent, that is replaced when it fails."""

import json
import os
import signal
import subprocess
import sys
import time

from answers import error_of, images_of, list_of, marked, text_of
from execs import MOST_OUTPUT, ROOT, spawn
from mux import CHUNK, DATA, DATA2, READ, WRITE, Owner
from streams import Source
from system import exit_code, kill_session

INTERRUPT_S = 1.0
# Bytes of each stream.
MOST_BETWEEN = 65_536
# When a cell whose caller went away is interrupted again, and whether with all that it started: what a system() of it
# waits for gets no signal that is sent to Python alone. After the last one its kernel is replaced.
GIVEN_UP_S = ((2.0, True), (1.0, False), (2.0, None))
# A result is at most 64 KiB of each field, escaped.
MOST_LINE = 4_194_304


class Kernel:
    """One process, and what it answers: `on_line(object)`, `on_death(text)`."""

    def __init__(self, agent, on_line, on_death):
        self.agent, self.loop, self.on_line, self.on_death = agent, agent.loop, on_line, on_death
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        code = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kernel.py')
        words = [sys.executable or 'python3', '-u', code, str(requests), str(answers)]
        try:
            self.leader = spawn(agent, words, agent.env, ROOT, subprocess.DEVNULL, out, err, (requests, answers))
        except OSError:
            for fd in (self.requests, self.answers, self.out, self.err):
                os.close(fd)
            raise
        finally:
            for fd in (requests, answers, out, err):
                os.close(fd)
        agent.children[self.leader.pid] = self.reaped
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)
        self.outbox, self.inbox = bytearray(), bytearray()
        self.alive = True
        self.sources = [Source(self.loop, self.out, None), Source(self.loop, self.err, None)]
        self.loop.watch(self.answers, READ, self.read)

    def ask(self, request):
        if self.alive:
            self.outbox += json.dumps(request).encode() + b'\n'
            self.flush()

    def flush(self, _events=0):
        try:
            while self.outbox:
                with memoryview(self.outbox) as view:
                    count = os.write(self.requests, view[:CHUNK])
                del self.outbox[:count]
        except BlockingIOError:
            pass
        except OSError:
            self.outbox.clear()
        self.loop.watch(self.requests, WRITE if self.outbox else 0, self.flush)

    def read(self, _events):
        try:
            data = os.read(self.answers, CHUNK)
        except BlockingIOError:
            return
        if not data:
            # It is about to end, or closed them itself.
            self.loop.watch(self.answers, 0, None)
            if self.alive:
                kill_session(self.leader)
            return
        self.inbox += data
        while b'\n' in self.inbox:
            line, _, rest = self.inbox.partition(b'\n')
            self.inbox = bytearray(rest)
            try:
                answer = json.loads(line)
                assert isinstance(answer, dict)
            except (ValueError, AssertionError, RecursionError):
                self.failed()
                return
            self.on_line(answer)
        if len(self.inbox) > MOST_LINE:
            self.failed()

    def reaped(self, status):
        died = self.alive
        self.release()
        if died:
            self.on_death(self.reason(status))

    def reason(self, status):
        limit = self.agent.ended.get(self.leader.pid)
        if limit:
            return f'{limit}, and the Python process was ended'
        code = exit_code(status)
        if not os.WIFSIGNALED(status):
            return f'the Python process ended with status {code}'
        memory = self.agent.limits['memory_bytes'] // 1_048_576
        hint = f': it may have needed more than the {memory} MiB of memory that this sandbox has' if code == 137 else ''
        return f'the Python process ended with signal {code - 128}{hint}'

    def stop(self):
        """Ends it with everything it started; nobody hears of it."""
        if self.alive:
            self.on_death = lambda _text: None
            kill_session(self.leader)

    def failed(self):
        """Nothing more is heard of it: what it said last may be as wrong as what came before."""
        if self.alive:
            self.loop.watch(self.answers, 0, None)
            self.agent.ended.setdefault(self.leader.pid, 'its answers could not be understood any more')
            kill_session(self.leader)

    def interrupt(self, group=False):
        if self.alive:
            (os.killpg if group else os.kill)(self.leader.pid, signal.SIGINT)

    def release(self):
        if self.alive:
            self.alive = False
            for fd in (self.requests, self.answers):
                self.loop.watch(fd, 0, None)
                os.close(fd)
            for source in self.sources:
                source.drop()


class Cell(Owner):
    """One `run_code`: its channel, and what is known of its end."""

    def __init__(self, kernels, channel, request):
        self.kernels, self.channel = kernels, channel
        channel.owner = self
        self.began = time.monotonic()
        self.seconds = request['timeout_ms'] / 1000
        self.number = kernels.count
        # Why the variables of earlier cells are gone, if nobody was told yet.
        self.lost, kernels.lost = kernels.lost, None
        self.timed_out = self.over = False
        self.timer = kernels.agent.loop.after(self.seconds, self.late)
        kernel = kernels.kernel
        for source, kind in zip(kernel.sources, (DATA, DATA2)):
            source.drain()
            between = marked(*source.take())
            source.channel, source.kind, source.most, source.sent = channel, kind, MOST_OUTPUT, len(between)
            channel.send(between, kind)
            name = 'stdout' if kind == DATA else 'stderr'
            source.on_cut = lambda name=name: channel.event({'truncated': name})
        self.sources = kernel.sources
        kernel.ask({'op': 'run', 'code': request['code'], 'env': request.get('env') or {}})

    def resume(self):
        for source in self.sources:
            source.resume()

    def late(self):
        self.timed_out = True
        self.kernels.kernel.interrupt()
        self.timer = self.kernels.agent.loop.after(INTERRUPT_S, lambda: self.failed_with(''))

    def answered(self, answer):
        if self.timed_out:
            error = answer.get('error')
            self.failed_with('', answer, (error.get('traceback') if isinstance(error, dict) else '') or '')
        else:
            self.finish(answer)

    def failed_with(self, text, answer=None, traceback='', name='KernelDied'):
        """It ends with its kernel: past its time, or as `text` says."""
        if self.timed_out:
            name, text = 'TimeoutError', f'the cell ran past its time of {self.seconds:g} s'
        error = {'name': name, 'value': text, 'traceback': traceback}
        self.finish({**(answer or {}), 'result': None, 'error': error}, text)

    def closed(self, _payload):
        """The caller went away: nobody wants the rest of the cell, and its variables stay."""
        if not self.over:
            self.end()
            # It was never told.
            self.kernels.lost = self.lost
            self.kernels.give_up(self)

    def end(self):
        self.over = True
        self.kernels.agent.loop.cancel(self.timer)
        for source in self.sources:
            source.drain()
            source.drop()
        self.kernels.cell = None

    def finish(self, answer, restarted=None):
        """`restarted`: why its kernel is replaced."""
        if self.over:
            return
        self.end()
        if restarted is not None:
            self.kernels.replace()
        self.kernels.gather()
        reason = restarted or self.lost
        self.channel.close({
            'result': text_of(answer.get('result')),
            'error': error_of(answer.get('error')),
            'images': images_of(answer.get('images')),
            'cut': [name for name in ('result', 'error') if name in list_of(answer.get('cut'))],
            'duration_ms': round((time.monotonic() - self.began) * 1000),
            'execution_count': self.number,
            'kernel_restarted': reason is not None,
            **({'restart_reason': reason} if reason else {}),
        })


class Queued(Owner):
    """A cell that waits until the one before it, whose caller went away, has ended."""

    def __init__(self, kernels, channel, request):
        self.kernels, self.channel, self.request = kernels, channel, request
        channel.owner = self

    def closed(self, _payload):
        self.kernels.queued = None


class Kernels:
    def __init__(self, agent):
        self.agent = agent
        self.kernel = self.cell = None
        # A cell whose caller went away and that still runs, and the one that waits for its end.
        self.orphan = self.queued = None
        # Why the variables of earlier cells are gone; the next cell tells.
        self.lost = None
        self.count = 0
        self.waiting = []

    def ensure(self):
        if self.kernel is None:
            self.kernel = Kernel(self.agent, self.line, self.died)

    def run(self, channel, request):
        if self.cell or self.queued:
            channel.close({'error': {'code': 'sandbox_busy', 'message': 'the kernel runs another cell'}})
        elif self.orphan:
            self.queued = Queued(self, channel, request)
        else:
            self.begin(channel, request)

    def begin(self, channel, request):
        self.ensure()
        self.count += 1
        self.cell = Cell(self, channel, request)

    def line(self, answer):
        if 'done' in answer and self.waiting:
            self.waiting.pop(0).close({})
        elif self.cell and 'done' not in answer:
            self.cell.answered(answer)
        elif self.orphan and 'done' not in answer:
            self.proceed()

    def give_up(self, cell):
        """Interrupts a cell that nobody hears of any more; one that goes on costs the kernel, which the next cell tells."""
        steps = iter(GIVEN_UP_S)

        def press(group):
            if group is None:
                self.replace('a cell whose caller went away did not end when it was interrupted')
                return
            self.kernel.interrupt(group)
            seconds, following = next(steps)
            cell.timer = self.agent.loop.after(seconds, lambda: press(following))

        self.orphan = cell
        press(False)

    def proceed(self):
        """The cell that was given up has ended; the one that waited for that begins."""
        if self.orphan:
            self.agent.loop.cancel(self.orphan.timer)
        queued, self.orphan, self.queued = self.queued, None, None
        for source in self.kernel.sources if self.kernel else ():
            # The last of the cell that nobody hears of.
            source.drain()
        self.gather()
        if queued:
            self.begin(queued.channel, queued.request)

    def gather(self):
        """What threads and tasks write from now on comes with the next cell."""
        for source in self.kernel.sources if self.kernel else ():
            source.gather(MOST_BETWEEN)

    def died(self, text):
        """It ended by itself."""
        self.kernel = None
        self.release_waiting()
        if self.cell:
            self.cell.failed_with(text)
            return
        if self.count:
            self.lost = text
        self.count = 0
        if self.orphan:
            self.proceed()

    def release_waiting(self):
        waiting, self.waiting = self.waiting, []
        for channel in waiting:
            channel.close({})

    def reset(self):
        """Starts the kernel anew, whatever it runs; the caller of a cell is told."""
        if self.cell:
            self.cell.failed_with('the kernel was reset', name='KernelReset')
        else:
            self.replace()

    def replace(self, lost=None):
        """Ends the kernel; the next one is started at once, so that nobody waits for it. `lost` is for the next cell."""
        if self.kernel:
            self.kernel.stop()
        self.kernel = None
        self.count = 0
        self.lost = lost
        self.release_waiting()
        try:
            self.ensure()
        except OSError:
            # The user's processes leave no room for one; the next cell tries again, and is told.
            pass
        if self.orphan:
            self.proceed()

    def warm(self, channel, modules):
        self.ensure()
        self.waiting.append(channel)
        self.kernel.ask({'op': 'warm', 'modules': modules})

    def thaw(self, channel):
        """After a restore: forks of one snapshot must not share what they hold for random."""
        if self.kernel is None:
            channel.close({})
            return
        self.waiting.append(channel)
        self.kernel.ask({'op': 'reseed'})
