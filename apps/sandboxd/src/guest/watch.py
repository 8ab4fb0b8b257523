"""Limits that gVisor does not keep for us: ends user code that takes too much before the machine ends the sandbox."""

import os
import signal
import time

import system

# A hog takes no more than this in a second (measured in gVisor with memset over fresh pages, two cores: 2 GB/s).
FASTEST = 4_000_000_000
IDLE_S = 1.0
SHORTEST_S = 0.02
BUSY_S = 0.05
# From this share of the processes on it is tried whether the user can start one more. RLIMIT_NPROC counts the dead that
# nobody waited for too, so that a bomb stands at the limit with 160 of 256 in /proc (measured).
SUSPECT = 0.3
# From this share of the memory on, a sum of residents that is over the limit is believed.
NEAR = 0.85


class Watch:
    def __init__(self, agent, memory_bytes, processes):
        self.agent, self.memory_bytes, self.processes = agent, memory_bytes, processes
        self.count = 0
        # When a limit ended something last, and what is said of it.
        self.acted, self.notice = 0.0, ''
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
            self.end_biggest()
            return SHORTEST_S
        table = system.processes()
        used = sum(resident for _, _, _, resident in table.values())
        if used > self.memory_bytes:
            # The sum counts what forked processes share once for each of them. gVisor's own figure stops at the limit.
            taken = system.memory_taken()
            used = used if taken > self.memory_bytes * NEAR else taken
        if self.is_full(sum(row[2] for row in table.values())):
            self.end_biggest()
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
        # Of the command or kernel that takes most together: many small hogs cost nobody else its memory.
        groups = self.groups(table)
        pid = max(max(groups, key=lambda pids: sum(table[pid][3] for pid in pids)), key=lambda pid: table[pid][3])
        limit = f'the memory limit of this sandbox, {self.memory_bytes // 1_048_576} MiB, was reached'
        self.end([pid], limit, f'its largest process, {system.name_of(pid)}, was ended')

    def end_biggest(self):
        """
        Ends the command or kernel that has most processes and threads, by the mark that all it started bear. Everything
        stands still meanwhile: a bomb outruns nobody, and each look is one system call instead of a turn among hundreds.
        """
        system.stop_all()
        table = system.processes()
        if table:
            biggest = max(self.groups(table), key=lambda pids: sum(table[pid][2] for pid in pids))
            limit = f'the limit of this sandbox, {self.processes} processes and threads, was reached'
            self.end(biggest, limit, f'what had most, {len(biggest)} processes, was ended')
        # Also what its own command had stopped: to ask each for its state first would take a bomb's time.
        system.continue_all()

    def groups(self, table):
        """What each command and the kernel started, as lists of processes."""
        found = {}
        for pid in table:
            found.setdefault(self.group_of(pid, table), []).append(pid)
        return found.values()

    @staticmethod
    def group_of(pid, table):
        """The dead that nobody waited for have no mark: they count for whoever should have."""
        for _ in range(64):
            mark = system.mark_of(pid) if pid in table else None
            if mark is not None or pid not in table:
                return mark
            pid = table[pid][0]
        return None

    def end(self, pids, limit, what):
        self.acted, self.notice = time.monotonic(), f'{limit}; {what}'
        for pid in pids:
            if pid in self.agent.children:
                self.agent.ended[pid] = limit
            self.kill(pid)

    @staticmethod
    def end_all():
        """One call ends every process but this one: for a bomb that nothing else has ended."""
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
