"""Commands: how one is started as the user, its output passed on, and how it ends."""

import os
import subprocess
import time
from typing import NamedTuple

from mux import DATA, DATA2, Owner
from streams import Sink, Source
from system import exit_code, kill_session, mark_children
from watch import SHORTEST_S, Watch

MOST_OUTPUT = 1_048_576
DRAIN_S = 0.2
# How often a start is tried: one second in all.
STARTS = 50
# Linux refuses one argument over 128 KiB.
MOST_ARGUMENT = 120_000
ROOT = '/workspace'


class Leader(NamedTuple):
    """The first process of a session of the user; `mark` tells what it started, and what those did."""
    pid: int
    mark: int


class Refused(Exception):
    """A request that cannot be served; the text goes to the caller."""


def directory(cwd):
    """The directory a command runs in: inside the workspace once every link is followed."""
    path = os.path.realpath(os.path.join(ROOT, cwd or ''))
    if path != ROOT and not path.startswith(ROOT + '/'):
        raise Refused('cwd is outside of /workspace')
    if not os.path.isdir(path):
        raise Refused('cwd is no directory')
    return path


def spawn(agent, *how):
    """Starts a process of the user in a session of its own; the caller reaps it through the agent."""
    for left in reversed(range(STARTS)):
        try:
            return start(agent, *how)
        except BlockingIOError:
            # A bomb has every place of the user: ended and reaped, it has none.
            if left == 0:
                raise
            if left > STARTS / 2:
                agent.watch.end_biggest()
            else:
                Watch.end_all()
            time.sleep(SHORTEST_S)
            agent.reap()


def start(agent, words, env, cwd, stdin, stdout, stderr, keep=()):
    agent.mark -= 1
    mark_children(agent.mark)
    # With the creds of the user for a moment the child is made by vfork, without a copy of the agent's memory: 9 ms
    # instead of 30 in gVisor. Its exec makes them final: the saved uid becomes 1000, capabilities go.
    if agent.is_root:
        os.setresuid(agent.uid, agent.uid, 0)
    try:
        child = subprocess.Popen(
            words, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr,
            # Every descriptor of the agent closes on exec by itself; looking for them costs 2 ms in gVisor.
            start_new_session=True, pass_fds=keep, close_fds=bool(keep),
        )
    finally:
        if agent.is_root:
            os.setresuid(0, 0, 0)
    # The agent reaps every child by itself.
    child.returncode = 0
    return Leader(child.pid, agent.mark)


class Exec(Owner):
    def __init__(self, agent, channel, request):
        self.agent, self.channel, self.loop = agent, channel, agent.loop
        channel.owner = self
        self.leader = self.timer = self.sink = self.script = None
        self.sources = []
        self.timed_out = self.over = False
        self.status = None
        self.began = time.monotonic()
        try:
            self.start(request)
        except Refused as error:
            self.over = True
            channel.close({'error': {'code': 'bad_request', 'message': str(error)}})
        except (OSError, ValueError) as error:
            self.over = True
            self.release()
            channel.event({'start': True})
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            words = request.get('cmd') or ['']
            channel.send(f'{words[0]}: {reason}\n'.encode('utf-8', 'replace'), DATA2)
            channel.close(self.result(None))

    def words(self, request):
        if request.get('cmd'):
            return request['cmd']
        if request.get('shell') is not None:
            return self.interpreter(['/bin/bash', '-l'], request['shell'])
        return self.interpreter(['python3' if request['language'] == 'python' else 'bash'], request['code'])

    def interpreter(self, words, code):
        """The words that run a text: as an argument, or from a file when it is too long for one."""
        if len(code.encode()) < MOST_ARGUMENT:
            return [*words, '-c', code]
        self.script = f'/tmp/.code-{self.channel.number}'
        fd = os.open(self.script, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, 'w') as file:
            if self.agent.is_root:
                os.fchown(fd, self.agent.uid, self.agent.uid)
            file.write(code)
        return [*words, self.script]

    def start(self, request):
        cwd = directory(request.get('cwd'))
        env = {**self.agent.env, 'PWD': cwd, **request.get('env', {})}
        if request.get('shell') is not None and 'PATH' in request.get('env', {}):
            # A login shell sets its own: /etc/profile.d/svc.sh gives this one back.
            env['_SVC_PATH'] = env['PATH']
        words = self.words(request)
        pipes = [os.pipe(), os.pipe()]
        feed = os.pipe() if request.get('stdin') else None
        mine = [read for read, _ in pipes] + ([feed[1]] if feed else [])
        try:
            stdin = feed[0] if feed else subprocess.DEVNULL
            self.leader = spawn(self.agent, words, env, cwd, stdin, pipes[0][1], pipes[1][1])
        except BaseException:
            for fd in mine:
                os.close(fd)
            raise
        finally:
            for fd in [write for _, write in pipes] + ([feed[0]] if feed else []):
                os.close(fd)
        self.agent.children[self.leader.pid] = self.reaped
        self.channel.event({'start': True})
        if feed:
            self.sink = Sink(self.loop, feed[1], self.channel)
        for (read, _), kind, name in zip(pipes, (DATA, DATA2), ('stdout', 'stderr')):
            cut = lambda name=name: self.channel.event({'truncated': name})
            self.sources.append(Source(self.loop, read, self.channel, kind, MOST_OUTPUT, self.drained, cut))
        self.timer = self.loop.after(request['timeout_ms'] / 1000, self.late)

    def late(self):
        self.timed_out = True
        kill_session(self.leader)

    def closed(self, _payload):
        """The caller went away."""
        if not self.over:
            self.over = True
            kill_session(self.leader)
            self.release()

    def data(self, _kind, payload):
        if self.sink:
            self.sink.write(payload)

    def eof(self):
        if self.sink:
            self.sink.eof()

    def resume(self):
        for source in self.sources:
            source.resume()

    def reaped(self, status):
        self.status = status
        if not self.over:
            self.loop.cancel(self.timer)
            self.timer = self.loop.after(DRAIN_S, self.finish)
            self.drained()

    def drained(self):
        if self.status is not None and all(source.ended for source in self.sources):
            self.finish()

    def finish(self):
        if self.over:
            return
        self.over = True
        for source in self.sources:
            source.drain()
        watch = self.agent.watch
        if watch.acted >= self.began:
            self.channel.send(f'svc: {watch.notice}\n'.encode(), DATA2)
        self.release()
        self.channel.close(self.result(None if self.timed_out else exit_code(self.status)))

    def release(self):
        self.loop.cancel(self.timer)
        if self.sink and not self.sink.ended:
            self.sink.end()
        for source in self.sources:
            source.drop()
        if self.script:
            try:
                os.unlink(self.script)
            except OSError:
                pass

    def result(self, code):
        ms = round((time.monotonic() - self.began) * 1000)
        return {'exit_code': code, 'timed_out': self.timed_out, 'duration_ms': ms}
