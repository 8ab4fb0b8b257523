"""The way out and the way in: loopback listeners whose connections become channels, and connections to ports inside.

Nothing here decides anything. What a name may reach is decided outside, where the route is.
"""

import errno
import os
import socket

from mux import READ, WRITE, Owner
from streams import Sink, Source

MOST_HEAD = 32_768
MOST_TUNNELS = 128
PROXY_PORT = 8080


def is_port(text):
    """Whether a text is a number that a port can be; of other scripts' digits `int` knows fewer than `isdigit`."""
    return text.isascii() and text.isdigit() and len(text) <= 5


class Pipe(Owner):
    """A socket and a channel, pumped both ways with half-close."""

    def __init__(self, loop, channel, sock):
        self.loop, self.channel, self.sock = loop, channel, sock
        self.over = False
        self.source = self.sink = None

    def start(self):
        fd = self.sock.fileno()
        # A duplicate: the selector wants one descriptor for each direction.
        self.sink = Sink(self.loop, os.dup(fd), self.channel, self.stop, self.shut)
        self.source = Source(self.loop, os.dup(fd), self.channel, on_end=self.ended)

    def shut(self):
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        os.close(self.sink.fd)
        self.done()

    def ended(self):
        self.channel.eof()
        self.done()

    def done(self):
        if self.source and self.source.ended and self.sink.ended:
            self.stop()

    def data(self, _kind, payload):
        if self.sink:
            self.sink.write(payload)

    def eof(self):
        if self.sink:
            self.sink.eof()

    def resume(self):
        if self.source:
            self.source.resume()

    def closed(self, _payload):
        self.stop()

    def failed(self):
        self.stop()

    def stop(self):
        if self.over:
            return
        self.over = True
        if self.source:
            self.source.on_end = None
            self.source.end()
        if self.sink and not self.sink.ended:
            self.sink.end()
        self.sock.close()
        if self.channel:
            self.channel.close({})


# What a server that was told to listen on `localhost` may listen on: Node.js takes the second, most others the first.
LOOPBACK = ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'))


class Port(Pipe):
    """A connection to a port of this sandbox, for a preview: to the first loopback address that takes it."""

    def __init__(self, loop, channel, port):
        super().__init__(loop, channel, None)
        channel.owner = self
        self.port = port
        self.places = list(LOOPBACK)
        self.early = b''
        self.dial()

    def dial(self):
        while self.places:
            family, host = self.places.pop(0)
            try:
                self.sock = socket.socket(family)
            except OSError:
                # The sandbox has no IPv6.
                continue
            self.sock.setblocking(False)
            if self.sock.connect_ex((host, self.port)) in (0, errno.EINPROGRESS):
                self.loop.watch(self.sock.fileno(), WRITE, self.connected)
                return
            self.sock.close()
        self.over = True
        self.channel.close({'error': {'code': 'not_found', 'message': 'nothing listens on this port'}})

    def connected(self, _events):
        self.loop.watch(self.sock.fileno(), 0, None)
        if self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.sock.close()
            self.dial()
            return
        self.channel.event({'connected': True})
        self.start()
        self.sink.write(self.early)

    def data(self, kind, payload):
        if self.sink:
            super().data(kind, payload)
        else:
            self.early += payload

    def closed(self, payload):
        if not self.over and self.sink is None:
            self.loop.watch(self.sock.fileno(), 0, None)
        super().closed(payload)


class Client(Pipe):
    """A connection of user code to the proxy: says in HTTP or SOCKS5 where to, then is pumped."""

    def __init__(self, proxy, sock):
        super().__init__(proxy.loop, None, sock)
        self.proxy = proxy
        self.head = bytearray()
        self.socks = None
        self.first = b''
        sock.setblocking(False)
        self.loop.watch(sock.fileno(), READ, self.read)

    def read(self, _events):
        try:
            data = self.sock.recv(MOST_HEAD)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        self.head += data
        if not data or len(self.head) > MOST_HEAD:
            self.give_up()
        elif self.head[0] == 5:
            self.read_socks()
        elif b'\r\n\r\n' in self.head:
            self.read_http()

    def say(self, answer):
        """A few bytes of the proxy's own; false when the client is gone."""
        try:
            self.sock.send(answer)
            return True
        except OSError:
            self.stop()
            return False

    def give_up(self, answer=b''):
        self.loop.watch(self.sock.fileno(), 0, None)
        if not answer or self.say(answer):
            self.stop()

    def stop(self):
        if not self.over and self.source is None:
            self.loop.watch(self.sock.fileno(), 0, None)
        self.proxy.clients.discard(self)
        super().stop()

    def read_socks(self):
        head = self.head
        if self.socks is None:
            if len(head) < 2 or len(head) < 2 + head[1]:
                return
            del head[:2 + head[1]]
            self.socks = True
            if not self.say(b'\x05\x00'):
                return
            if not head:
                self.head = bytearray()
                self.read_more()
                return
        self.read_more_socks()

    def read_more(self):
        self.loop.watch(self.sock.fileno(), READ, self.read_request)

    def read_request(self, _events):
        try:
            data = self.sock.recv(512)
        except OSError:
            data = b''
        self.head += data
        if not data:
            self.give_up()
        else:
            self.read_more_socks()

    def read_more_socks(self):
        """VER CMD RSV ATYP address port; only CONNECT there is."""
        head = self.head
        self.read_more()
        if len(head) < 5:
            return
        size = {1: 4, 4: 16, 3: head[4] + 1}.get(head[3])
        if size is None or head[1] != 1:
            self.give_up(b'\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00')
            return
        if len(head) < 4 + size + 2:
            return
        raw = bytes(head[4:4 + size])
        if head[3] == 3:
            host = raw[1:].decode('latin-1')
        else:
            host = socket.inet_ntop(socket.AF_INET if head[3] == 1 else socket.AF_INET6, raw)
        port = int.from_bytes(head[4 + size:6 + size], 'big')
        self.first = bytes(head[6 + size:])
        self.ask(host, port, 'socks')

    def read_http(self):
        head, _, rest = bytes(self.head).partition(b'\r\n\r\n')
        lines = head.decode('latin-1').split('\r\n')
        parts = lines[0].split(' ')
        if len(parts) == 3 and parts[0] == 'CONNECT':
            host, _, port = parts[1].rpartition(':')
            self.first = rest
            self.ask(host.strip('[]'), int(port) if is_port(port) else 0, 'connect')
        elif len(parts) == 3 and parts[1].lower().startswith('http://'):
            place, slash, path = parts[1][7:].partition('/')
            host, colon, port = place.rpartition(':') if is_port(place.rpartition(':')[2]) else (place, '', '80')
            kept = [line for line in lines[1:] if line.split(':')[0].lower() not in ('connection', 'proxy-connection')]
            first = '\r\n'.join([f'{parts[0]} /{path} {parts[2]}', *kept, 'Connection: close'])
            self.first = first.encode('latin-1') + b'\r\n\r\n' + rest
            self.ask(host.strip('[]'), int(port), 'http')
        else:
            self.give_up(b'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')

    def ask(self, host, port, mode):
        self.mode = mode
        self.loop.watch(self.sock.fileno(), 0, None)
        self.channel = self.proxy.mux.open({'kind': 'egress', 'host': host, 'port': port, 'mode': mode}, self)

    def event(self, payload):
        if not payload.get('connected') or self.source:
            return
        said = {
            'connect': b'HTTP/1.1 200 Connection established\r\n\r\n',
            'socks': b'\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00',
        }.get(self.mode)
        if said and not self.say(said):
            return
        first, self.first = self.first, b''
        self.channel.send(first)
        self.start()

    def closed(self, payload):
        if self.source is None and not self.over:
            reason = str(payload.get('reason') or 'refused')
            if self.mode == 'socks':
                self.give_up(b'\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00')
            else:
                body = f'egress: {reason}\n'.encode()
                # Clients show the reason of a refused CONNECT, and never its body.
                words = ' '.join(reason.split())[:200].encode('ascii', 'replace').decode()
                status = f"{502 if payload.get('failed') else 403} egress: {words}"
                head = f'HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n'
                self.give_up(head.encode() + body)
        else:
            self.stop()


class Proxy:
    def __init__(self, agent):
        self.loop, self.mux = agent.loop, agent.mux
        self.clients = set()
        self.server = socket.socket()
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.server.bind(('127.0.0.1', PROXY_PORT))
        self.server.listen(128)
        self.server.setblocking(False)
        self.loop.watch(self.server.fileno(), READ, self.accept)

    def accept(self, _events):
        try:
            sock, _ = self.server.accept()
        except OSError:
            return
        if len(self.clients) >= MOST_TUNNELS:
            sock.close()
        else:
            self.clients.add(Client(self, sock))

    def freeze(self):
        """Before a snapshot: what is said to the outside would be torn in two."""
        self.loop.watch(self.server.fileno(), 0, None)
        for client in list(self.clients):
            client.stop()

    def thaw(self):
        self.loop.watch(self.server.fileno(), READ, self.accept)
