"""What ended right after a restore: the answer to a resume said by then that all of it was there again."""

import os
import signal

import system
from mux import Owner

# What comes of a restore comes at once: a crash that was looked into came 60 ms after it.
WATCHED_S = 5.0
MOST_TOLD = 20
CRASHES = {
    number: number.name
    for number in (
        signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGTRAP,
    )
}


class Aftermath(Owner):
    """
    Compares the processes of a snapshot with those that are left some seconds after it was restored. Of its own children
    the agent knows how they ended, and tells of crashes alone; of the others, that they are gone.
    """

    def __init__(self, loop):
        self.loop = loop
        # The processes of the snapshot, the first ones first: pid -> name.
        self.before = {}
        # What the agent's own children ended with since the restore: pid -> status.
        self.statuses = {}
        self.timer = None
        self.told = []
        self.waiting = []

    def remember(self):
        """Before a snapshot; what a restore before it brought is told now."""
        self.conclude()
        self.before = system.alive()

    def begin(self):
        """After the restore, before any of them goes on."""
        self.conclude()
        self.told, self.statuses = [], {}
        self.timer = self.loop.after(WATCHED_S, self.conclude)

    def reaped(self, pid, status):
        if self.timer and pid in self.before:
            self.statuses[pid] = status

    def conclude(self):
        if self.timer is None:
            return
        self.loop.cancel(self.timer)
        self.timer = None
        crashed, gone, left = [], [], system.alive()
        for pid, name in self.before.items():
            status = self.statuses.get(pid)
            if status is None:
                if pid not in left:
                    gone.append({'pid': pid, 'command': name})
            elif os.WIFSIGNALED(status) and os.WTERMSIG(status) in CRASHES:
                crashed.append({'pid': pid, 'command': name, 'signal': CRASHES[os.WTERMSIG(status)]})
        self.told = (crashed + gone)[:MOST_TOLD]
        for channel in self.waiting:
            channel.close({'ended': self.told})
        self.waiting = []

    def tell(self, channel):
        """Answers once the time is over."""
        if self.timer:
            self.waiting.append(channel)
        else:
            channel.close({'ended': self.told})
