"""Limits that gVisor does not keep for us: ends user code that takes too much before the machine ends the sandbox."""

import os
import signal

import system

# A hog takes no more than this in a second (measured in gVisor with memset over fresh pages, two cores: 2 GB/s).
FASTEST = 4_000_000_000
IDLE_S = 1.0
SHORTEST_S = 0.02
BUSY_S = 0.05
# From this share of the processes on it is tried whether the user can start one more. RLIMIT_NPROC counts the dead that
# nobody waited for too, so that a bomb stands at the limit with 160 of 256 in /proc (measured).
SUSPECT = 0.3


class Watch:
    def __init__(self, agent, memory_bytes, processes):
        self.agent, self.memory_bytes, self.processes = agent, memory_bytes, processes
        self.count = 0
        self.agent.loop.after(IDLE_S, self.look)

    def look(self):
        seconds = BUSY_S
        try:
            seconds = self.judge()
        finally:
            self.agent.loop.after(seconds, self.look)

    def judge(self):
        """Ends what takes too much; answers in how many seconds to look again."""
        # With hundreds of spinning processes each system call waits its turn: a bomb is looked for with few of them.
        if self.is_full(system.count()):
            self.end_all()
            return SHORTEST_S
        table = system.processes()
        used = sum(resident for _, _, _, resident in table.values())
        if self.is_full(sum(row[2] for row in table.values())):
            self.end_all()
        elif used > self.memory_bytes:
            self.end_largest(table)
            used = 0
        idle = len(table) <= 1 and used < self.memory_bytes / 4
        left = max(0, self.memory_bytes - used) / FASTEST
        return IDLE_S if idle and not self.busy() else max(SHORTEST_S, min(BUSY_S, left))

    def is_full(self, threads):
        """Whether forks of the user fail: what holds the sandbox there leaves room for nothing else."""
        if threads < self.processes * SUSPECT:
            return False
        if self.agent.is_root:
            os.setresuid(self.agent.uid, self.agent.uid, 0)
        try:
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            return False
        except OSError:
            return True
        finally:
            if self.agent.is_root:
                os.setresuid(0, 0, 0)

    def busy(self):
        return len(self.agent.children) > 1 or len(self.agent.mux.channels) > 0

    def end_largest(self, table):
        pid = max(table, key=lambda pid: table[pid][3])
        self.kill(pid)

    @staticmethod
    def end_all():
        """A fork bomb: one call ends every process but this one, so that none can outrun it."""
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
