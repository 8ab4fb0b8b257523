"""A terminal: a login shell of the user on a pty of its own, until it ends or whoever opened it goes away."""

import fcntl
import os
import signal
import struct
import sys
import termios

from execs import ROOT, spawn
from mux import Owner
from streams import Sink, Source
from system import exit_code, processes

# The shell leads a session by now; with this call the pty becomes the session's own, so that Ctrl-C and job control work.
BEGIN = "import fcntl, os, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv('/bin/bash', ['-bash'])"
# Time for a shell to take its hangup.
HANG_UP_S = 2


class Terminal(Owner):
    """Like a terminal over ssh: its end hangs the shell up, and what was started to live on does."""

    def __init__(self, agent, channel, request):
        self.agent, self.channel, self.loop = agent, channel, agent.loop
        channel.owner = self
        self.leader = self.source = self.sink = None
        self.over = self.reaped = False
        try:
            self.start(request)
        except (OSError, ValueError) as error:
            self.over = True
            channel.close({'error': {'code': 'internal_error', 'message': f'no terminal: {error}'}})

    def start(self, request):
        master, slave = self.pty()
        try:
            self.master = master
            self.resize(request)
            env = {**self.agent.env, **request.get('env', {}), 'TERM': 'xterm-256color', 'PWD': ROOT}
            words = [sys.executable or 'python3', '-I', '-S', '-c', BEGIN]
            self.leader = spawn(self.agent, words, env, ROOT, slave, slave, slave)
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        self.agent.children[self.leader.pid] = self.ended
        self.channel.event({'start': True})
        # A duplicate: the selector wants one descriptor for each direction.
        self.sink = Sink(self.loop, os.dup(master), self.channel)
        self.source = Source(self.loop, master, self.channel)

    def pty(self):
        """Made as the user, whose it has to be for programs that open it by its name."""
        if not self.agent.is_root:
            return os.openpty()
        os.setresuid(self.agent.uid, self.agent.uid, 0)
        try:
            return os.openpty()
        finally:
            os.setresuid(0, 0, 0)

    def resize(self, size):
        size = struct.pack('HHHH', int(size['rows']), int(size['cols']), 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        if self.leader:
            tell(self.groups(), signal.SIGWINCH)

    def event(self, payload):
        if not self.over and not self.source.ended and isinstance(payload.get('resize'), dict):
            self.resize(payload['resize'])

    def data(self, _kind, payload):
        self.sink.write(payload)

    def resume(self):
        self.source.resume()

    def ended(self, status):
        """The shell ended; what it left behind may hold the pty open."""
        self.reaped = True
        if self.over:
            return
        self.over = True
        self.source.drain()
        self.release()
        code = exit_code(status)
        name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None
        self.channel.close({'exit_code': None if name else code, 'signal': name})

    def eof(self):
        """Nobody types any more."""
        if not self.over:
            self.closed({})
            self.channel.close({'exit_code': None, 'signal': 'SIGHUP'})

    def closed(self, _payload):
        """Whoever opened it went away."""
        if self.over:
            return
        self.over = True
        groups = self.groups()
        self.release()
        if not self.reaped:
            # Whatever is left of the session: shells pass it on to their programs, though not in every runtime.
            tell(groups | {pid for pid, (_, sid, _, _) in processes().items() if sid == self.leader.pid}, signal.SIGHUP)
            self.loop.after(HANG_UP_S, lambda: self.reaped or tell(groups, signal.SIGKILL))

    def groups(self):
        """The shell's group and that of the program in front, as `kill` wants them: not every runtime tells them by itself."""
        front = 0
        try:
            front = os.tcgetpgrp(self.master)
        except OSError:
            pass
        return {-group for group in (self.leader.pid, front) if group > 1}

    def release(self):
        if self.sink and not self.sink.ended:
            self.sink.end()
        if self.source:
            self.source.end()


def tell(targets, number):
    for target in targets:
        try:
            os.kill(target, number)
            if number == signal.SIGHUP:
                # One that stands still takes no hangup.
                os.kill(target, signal.SIGCONT)
        except OSError:
            pass
