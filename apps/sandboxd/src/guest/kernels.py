"""Holds the Python kernel of `run_code`: a process of the user, apart from the agent, that is replaced when it fails."""

import json
import os
import signal
import subprocess
import sys
import time

from execs import MOST_OUTPUT, ROOT, spawn
from mux import CHUNK, DATA, DATA2, READ, WRITE, Owner
from streams import Source
from system import exit_code, kill_session

INTERRUPT_S = 1.0
# A result is at most 64 KiB of each field, escaped.
MOST_LINE = 4_194_304


class Kernel:
    """One process, and what it answers: `on_line(object)`, `on_death(text)`."""

    def __init__(self, agent, on_line, on_death):
        self.loop, self.on_line, self.on_death = agent.loop, on_line, on_death
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
        code = exit_code(status)
        how = f'signal {code - 128}' if os.WIFSIGNALED(status) else f'status {code}'
        died = self.alive
        self.release()
        if died:
            self.on_death(f'the Python process ended with {how}')

    def stop(self):
        """Ends it with everything it started; nobody hears of it."""
        if self.alive:
            self.on_death = lambda _text: None
            kill_session(self.leader)

    def failed(self):
        """Nothing more is heard of it: what it said last may be as wrong as what came before."""
        if self.alive:
            self.loop.watch(self.answers, 0, None)
            kill_session(self.leader)

    def interrupt(self):
        if self.alive:
            os.kill(self.leader.pid, signal.SIGINT)

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
        self.answer = None
        self.timed_out = self.over = False
        self.timer = kernels.agent.loop.after(request['timeout_ms'] / 1000, self.late)
        kernel = kernels.kernel
        for source, kind in zip(kernel.sources, (DATA, DATA2)):
            # What a background thread wrote since the last cell belongs to nobody.
            source.drain()
            source.channel, source.kind, source.most, source.sent = channel, kind, MOST_OUTPUT, 0
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
        self.timer = self.kernels.agent.loop.after(INTERRUPT_S, lambda: self.finish(self.late_answer()))

    def late_answer(self):
        return {'result': None, 'error': {'name': 'TimeoutError', 'value': 'the cell ran past its time', 'traceback': ''}}

    def answered(self, answer):
        if self.timed_out:
            answer = {**answer, 'result': None} if answer.get('error') else {**answer, **self.late_answer()}
        self.finish(answer)

    def died(self, text):
        error = {'name': 'KernelDied', 'value': text, 'traceback': ''}
        self.finish(self.late_answer() if self.timed_out else {'result': None, 'error': error}, restarted=True)

    def closed(self, _payload):
        """The caller went away: nobody wants the rest of the cell."""
        if not self.over:
            self.end()
            self.kernels.restart()

    def end(self):
        self.over = True
        self.kernels.agent.loop.cancel(self.timer)
        for source in self.sources:
            source.drain()
            source.drop()
        self.kernels.cell = None

    def finish(self, answer, restarted=False):
        if self.over:
            return
        self.end()
        restarted = restarted or self.timed_out
        count = self.kernels.count
        if restarted:
            self.kernels.restart()
        self.channel.close({
            'result': text_of(answer.get('result')),
            'error': error_of(answer.get('error')),
            'images': images_of(answer.get('images')),
            'duration_ms': round((time.monotonic() - self.began) * 1000),
            'execution_count': count,
            'kernel_restarted': restarted,
        })


def text_of(value):
    """The kernel runs user code: nothing that it says is taken as it is."""
    if not isinstance(value, str):
        return None
    return value.encode('utf-8', 'replace')[:65_536].decode('utf-8', 'ignore')


def images_of(value):
    images = value if isinstance(value, list) else []
    return [image[:1024] for image in images[:100] if isinstance(image, str)]


def error_of(value):
    if not isinstance(value, dict):
        return None
    return {name: text_of(value.get(name)) or '' for name in ('name', 'value', 'traceback')}


class Kernels:
    def __init__(self, agent):
        self.agent = agent
        self.kernel = self.cell = None
        self.count = 0
        self.waiting = []

    def ensure(self):
        if self.kernel is None:
            self.kernel = Kernel(self.agent, self.line, self.died)

    def run(self, channel, request):
        if self.cell:
            channel.close({'error': {'code': 'sandbox_busy', 'message': 'the kernel runs another cell'}})
            return
        self.ensure()
        self.count += 1
        self.cell = Cell(self, channel, request)

    def line(self, answer):
        if 'done' in answer and self.waiting:
            self.waiting.pop(0).close({})
        elif self.cell and 'done' not in answer:
            self.cell.answered(answer)

    def died(self, text):
        self.kernel = None
        self.release_waiting()
        if self.cell:
            self.cell.died(text)
        else:
            self.count = 0

    def release_waiting(self):
        waiting, self.waiting = self.waiting, []
        for channel in waiting:
            channel.close({})

    def restart(self):
        """Ends the kernel; the next one is started at once, so that nobody waits for it."""
        if self.kernel:
            self.kernel.stop()
        self.kernel = None
        self.count = 0
        self.release_waiting()
        if self.cell:
            self.cell.died('the kernel was reset')
        try:
            self.ensure()
        except OSError:
            # The user's processes leave no room for one; the next cell tries again, and is told.
            pass

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
