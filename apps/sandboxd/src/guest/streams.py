"""Descriptors and channels, pumped: what is read from one goes into the other as fast as that takes it."""

import os

from mux import CHUNK, DATA, READ, WINDOW, WRITE


# What a pipe holds at most, read twice, for what came in between.
MOST_READS = 2


class Source:
    """Reads a descriptor into a channel, as fast as the channel takes it; over `most` bytes it reads on and drops."""

    def __init__(self, loop, fd, channel, kind=DATA, most=None, on_end=None, on_cut=None):
        self.loop, self.fd, self.channel, self.kind = loop, fd, channel, kind
        self.most, self.on_end, self.on_cut = most, on_end, on_cut
        self.sent = 0
        # What is kept while there is no channel, of which the end, and how many bytes came before that.
        self.kept, self.most_kept, self.lost = bytearray(), 0, 0
        self.ended = False
        os.set_blocking(fd, False)
        self.resume()

    def resume(self):
        if not self.ended:
            self.loop.watch(self.fd, READ if self.channel is None or self.channel.writable() else 0, self.read)

    def read(self, _events=0):
        """Moves one chunk; false when there is nothing to read now."""
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b''
        if not data:
            self.end()
            return False
        self.pass_on(data)
        return True

    def pass_on(self, data):
        if self.channel is None:
            self.keep(data)
            return
        if self.most is not None and self.sent + len(data) > self.most:
            left = self.most - self.sent
            if left >= 0 and self.on_cut:
                self.channel.send(data[:left], self.kind)
                self.sent = self.most
                on_cut, self.on_cut = self.on_cut, None
                on_cut()
            return
        self.sent += len(data)
        self.channel.send(data, self.kind)
        if not self.channel.writable():
            self.loop.watch(self.fd, 0, None)

    def keep(self, data):
        self.kept += data if self.most_kept else b''
        over = max(0, len(self.kept) - self.most_kept)
        del self.kept[:over]
        self.lost += over

    def gather(self, most):
        """Keeps the last bytes from now on, until there is a channel again."""
        self.most_kept = most

    def take(self):
        """What was kept, without the rest of a character that began before it; and how many bytes are lost."""
        kept, lost = bytes(self.kept), self.lost
        self.kept, self.most_kept, self.lost = bytearray(), 0, 0
        start = next((at for at in range(min(4, len(kept))) if kept[at] & 0xC0 != 0x80), 0) if lost else 0
        return kept[start:], lost + start

    def drain(self):
        """Moves what lies there now, whether the channel takes it or not; a writer that goes on gives no end of it."""
        for _ in range(MOST_READS):
            if self.ended or not self.read():
                return

    def drop(self):
        """Keeps reading, for a writer that lives on, and forgets what it reads."""
        self.channel = None
        self.on_end = self.on_cut = None
        self.resume()

    def failed(self):
        self.end()

    def end(self):
        if not self.ended:
            self.ended = True
            self.loop.watch(self.fd, 0, None)
            self.close()
            if self.on_end:
                self.on_end()

    def close(self):
        os.close(self.fd)


class Sink:
    """Writes a channel's data to a descriptor and returns the credit for what is written."""

    def __init__(self, loop, fd, channel, on_fail=None, shut=None):
        self.loop, self.fd, self.channel, self.on_fail, self.shut = loop, fd, channel, on_fail, shut
        self.buffer = bytearray()
        self.ending = False
        self.ended = False
        os.set_blocking(fd, False)

    def write(self, data):
        if self.ended:
            self.channel.give_credit(len(data))
            return
        self.buffer += data
        if self.channel.open and len(self.buffer) > 4 * WINDOW:
            os._exit(1)
        self.flush()

    def flush(self, _events=0):
        written = 0
        try:
            while self.buffer:
                with memoryview(self.buffer) as view:
                    count = os.write(self.fd, view[:CHUNK])
                del self.buffer[:count]
                written += count
        except BlockingIOError:
            pass
        except OSError:
            written += len(self.buffer)
            self.buffer.clear()
            self.ending = True
            if self.on_fail:
                self.on_fail()
        self.channel.give_credit(written)
        self.want()
        if self.ending and not self.buffer:
            self.end()

    def want(self):
        if not self.ended:
            self.loop.watch(self.fd, WRITE if self.buffer else 0, self.flush)

    def eof(self):
        self.ending = True
        if not self.buffer:
            self.end()

    def failed(self):
        self.end()

    def end(self):
        if not self.ended:
            self.ended = True
            self.loop.watch(self.fd, 0, None)
            if self.shut:
                self.shut()
            else:
                os.close(self.fd)
