"""The loop of the agent and its frames: u32 length, u32 channel, u8 type, payload (big endian).

Channels that the host opens have odd ids, those that open inside even ones. A side sends at most `WINDOW` bytes of data
on a channel before the other returns credit, so a slow reader stops its source and nothing grows.
"""

import heapq
import json
import os
import selectors
import struct
import sys
import time

OPEN, DATA, DATA2, EOF, CLOSE, CREDIT, EVENT = range(1, 8)
WINDOW = 262_144
CHUNK = 65_536
MOST_PAYLOAD = 16_777_216
HEADER = struct.Struct('>IIB')
# Faults that are told in full; whoever can cause one can cause them without end.
MOST_TOLD = 20
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Loop:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.timers = []
        self.count = 0
        self.told = 0

    def call(self, callback, *words):
        """Whether it ended well. This process is PID 1: a fault in one conversation may not end all of them."""
        try:
            callback(*words)
            return True
        except Exception:
            self.told += 1
            if self.told <= MOST_TOLD:
                sys.excepthook(*sys.exc_info())
            return False

    def watch(self, fd, events, callback):
        """Calls `callback(events)` when fd is ready; replaces what was asked before; 0 events: nothing any more."""
        known = fd in self.selector.get_map()
        if events == 0:
            if known:
                self.selector.unregister(fd)
        elif known:
            self.selector.modify(fd, events, callback)
        else:
            self.selector.register(fd, events, callback)

    def after(self, seconds, callback):
        self.count += 1
        timer = [time.monotonic() + seconds, self.count, callback]
        heapq.heappush(self.timers, timer)
        return timer

    @staticmethod
    def cancel(timer):
        if timer:
            timer[2] = None

    def run(self):
        while True:
            timeout = max(0, self.timers[0][0] - time.monotonic()) if self.timers else None
            for key, events in self.selector.select(timeout):
                # An earlier callback of this round may have closed it, and the number may be another one's by now.
                if self.selector.get_map().get(key.fd) is key and not self.call(key.data, events):
                    # Asked again it would only fail again: whose it is gives it up.
                    failed = getattr(getattr(key.data, '__self__', None), 'failed', None)
                    if failed:
                        self.call(failed)
            while self.timers and self.timers[0][0] <= time.monotonic():
                callback = heapq.heappop(self.timers)[2]
                if callback:
                    self.call(callback)


class Channel:
    """One conversation. `owner` has data(kind, bytes), eof(), closed(payload), resume() and event(payload)."""

    def __init__(self, mux, number):
        self.mux = mux
        self.number = number
        self.owner = None
        self.credit = WINDOW
        self.open = True

    def writable(self):
        return self.credit > 0 and self.mux.room()

    def send(self, data, kind=DATA):
        if self.open and data:
            self.credit -= len(data)
            self.mux.send(self.number, kind, data)

    def event(self, payload):
        if self.open:
            self.mux.send(self.number, EVENT, json.dumps(payload).encode())

    def eof(self):
        if self.open:
            self.mux.send(self.number, EOF, b'')

    def give_credit(self, count):
        if self.open and count:
            self.mux.send(self.number, CREDIT, count.to_bytes(4, 'big'))

    def close(self, payload):
        if self.open:
            self.open = False
            self.mux.channels.pop(self.number, None)
            self.mux.send(self.number, CLOSE, json.dumps(payload).encode())

    def failed(self):
        self.close({'error': {'code': 'internal_error', 'message': 'the agent failed'}})
        self.owner.closed({})


class Mux:
    """Frames over two descriptors. `accept(channel, payload)` meets what the other side opens."""

    def __init__(self, loop, source, sink, accept):
        self.loop, self.source, self.sink, self.accept = loop, source, sink, accept
        self.channels = {}
        self.next = 2
        self.inbox = bytearray()
        self.outbox = bytearray()
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        loop.watch(source, READ, self.read)

    def room(self):
        return len(self.outbox) < 4 * WINDOW

    def open(self, payload, owner):
        channel = Channel(self, self.next)
        self.next += 2
        channel.owner = owner
        self.channels[channel.number] = channel
        self.send(channel.number, OPEN, json.dumps(payload).encode())
        return channel

    def send(self, number, kind, payload):
        had = len(self.outbox) > 0
        self.outbox += HEADER.pack(len(payload), number, kind)
        self.outbox += payload
        if not had:
            self.flush(0)

    def flush(self, _events):
        full = not self.room()
        try:
            while self.outbox:
                with memoryview(self.outbox) as view:
                    sent = os.write(self.sink, view[:CHUNK])
                del self.outbox[:sent]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            os._exit(0)
        self.loop.watch(self.sink, WRITE if self.outbox else 0, self.flush)
        if full and self.room():
            for channel in list(self.channels.values()):
                self.loop.call(channel.owner.resume)

    def failed(self):
        # Without its frames this process is of no use to anybody.
        os._exit(1)

    def read(self, _events):
        try:
            data = os.read(self.source, CHUNK)
        except BlockingIOError:
            return
        if not data:
            # Nobody holds this sandbox any more.
            os._exit(0)
        self.inbox += data
        while len(self.inbox) >= HEADER.size:
            length, number, kind = HEADER.unpack_from(self.inbox)
            if length > MOST_PAYLOAD:
                os._exit(1)
            end = HEADER.size + length
            if len(self.inbox) < end:
                return
            payload = bytes(self.inbox[HEADER.size:end])
            del self.inbox[:end]
            if not self.loop.call(self.frame, number, kind, payload) and number in self.channels:
                self.loop.call(self.channels[number].failed)

    def frame(self, number, kind, payload):
        if kind == OPEN:
            channel = self.channels[number] = Channel(self, number)
            self.accept(channel, json.loads(payload))
            return
        channel = self.channels.get(number)
        if channel is None:
            return
        owner = channel.owner
        if kind in (DATA, DATA2):
            owner.data(kind, payload)
        elif kind == EOF:
            owner.eof()
        elif kind == CREDIT:
            channel.credit += int.from_bytes(payload, 'big')
            owner.resume()
        elif kind == EVENT:
            owner.event(json.loads(payload))
        elif kind == CLOSE:
            channel.open = False
            del self.channels[number]
            owner.closed(json.loads(payload or b'{}'))


class Owner:
    """What a channel's owner does unless it says otherwise."""

    def data(self, kind, payload):
        pass

    def eof(self):
        pass

    def closed(self, payload):
        pass

    def resume(self):
        pass

    def event(self, payload):
        pass
