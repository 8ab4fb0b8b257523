"""What an image has to run from the beginning, such as a desktop: the user's, and it says a line once it serves."""

import os
import subprocess

from execs import ROOT, spawn
from mux import READ

PROGRAM = '/usr/local/bin/svc-start'


class Start:
    def __init__(self, agent):
        self.loop = agent.loop
        self.waiting = []
        self.source = None
        if os.path.exists(PROGRAM):
            self.source, sink = os.pipe()
            spawn(agent, [PROGRAM], agent.env, ROOT, subprocess.DEVNULL, sink, subprocess.DEVNULL)
            os.close(sink)
            self.loop.watch(self.source, READ, self.said)

    def said(self, _events):
        """Its line, or its end: a program that failed holds nobody up."""
        self.loop.watch(self.source, 0, None)
        os.close(self.source)
        self.source = None
        for channel in self.waiting:
            channel.close({})

    def wait(self, channel):
        """Answers once it serves; at once where there is nothing to run."""
        if self.source is None:
            channel.close({})
        else:
            self.waiting.append(channel)
