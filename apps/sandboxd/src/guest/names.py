"""The name server of the sandbox. It knows no name: what may be reached is resolved outside, by the proxy."""

import socket

from mux import READ

MOST_QUESTION = 514
MOST_WAITING = 16
NO_SUCH_NAME = 3
REFUSED = 5


def answer(question, code):
    """The question with its section of questions, and no answer; empty for what is no question."""
    if len(question) <= 12:
        return b''
    return question[:2] + bytes((0x81, 0x80 | code)) + question[4:6] + b'\x00' * 6 + question[12:]


class Names:
    """Answers every question at once: a name that is waited for would hold a program for the resolver's 10 s."""

    def __init__(self, loop):
        self.loop = loop
        self.waiting = []
        try:
            self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.udp.bind(('127.0.0.1', 53))
            self.tcp = socket.socket()
            self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.tcp.bind(('127.0.0.1', 53))
            self.tcp.listen(16)
        except OSError:
            # Without it a question meets a closed port, which is as fast.
            return
        self.udp.setblocking(False)
        self.tcp.setblocking(False)
        loop.watch(self.udp.fileno(), READ, self.datagram)
        loop.watch(self.tcp.fileno(), READ, self.connection)

    def datagram(self, _events):
        try:
            question, sender = self.udp.recvfrom(512)
            self.udp.sendto(answer(question, NO_SUCH_NAME), sender)
        except OSError:
            pass

    def connection(self, _events):
        try:
            sock, _ = self.tcp.accept()
        except OSError:
            return
        sock.setblocking(False)
        self.waiting.append(sock)
        if len(self.waiting) > MOST_WAITING:
            self.end(self.waiting[0])
        held = bytearray()
        self.loop.watch(sock.fileno(), READ, lambda _events: self.read(sock, held))

    def read(self, sock, held):
        """Two bytes of length, then the question; one a connection."""
        try:
            data = sock.recv(MOST_QUESTION)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        held += data
        size = int.from_bytes(held[:2], 'big') if len(held) >= 2 else MOST_QUESTION
        if data and len(held) < min(2 + size, MOST_QUESTION):
            return
        said = answer(bytes(held[2:2 + size]), REFUSED)
        try:
            sock.send(len(said).to_bytes(2, 'big') + said)
        except OSError:
            pass
        self.end(sock)

    def end(self, sock):
        self.waiting.remove(sock)
        self.loop.watch(sock.fileno(), 0, None)
        sock.close()
