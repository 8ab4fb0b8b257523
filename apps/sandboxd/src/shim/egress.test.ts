import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Daemon, skip, startDaemon, testWhere } from '../testing.ts';

/** Names of this machine alone: `localhost` is one that the operator lets through. */
const host = 'localhost';

for (const backend of ['v2', 'v1'] as const) {
  // One program outside of the sandbox lets through and refuses for both: how it reads what comes is proven once.
  const ofTheShim = testWhere(backend === 'v1');
  describe(`the way out of a ${backend} sandbox`, { skip }, () => {
    let daemon: Daemon;
    const [open, closed] = [randomUUID(), randomUUID()];
    const directory = mkdtempSync(join(tmpdir(), 'svc-egress-'));
    const pem = (name: string): string => join(directory, name);
    const http = createServer((request, response) => {
      request.on('data', () => {});
      request.on('end', () => response.end(`${request.method} ${request.headers.host?.split(':')[0]} ${request.url}`));
    });
    let tls: ReturnType<typeof createTlsServer>;
    let [plain, secure] = [0, 0];

    before(async () => {
      const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${host}`];
      execFileSync('openssl', [...words, '-keyout', pem('key'), '-out', pem('cert')], { stdio: 'ignore' });
      tls = createTlsServer({ key: readFileSync(pem('key')), cert: readFileSync(pem('cert')) }, (_, response) => {
        response.end('secret');
      });
      http.listen(0, '127.0.0.1');
      tls.listen(0, '127.0.0.1');
      await Promise.all([once(http, 'listening'), once(tls, 'listening')]);
      [plain, secure] = [(http.address() as AddressInfo).port, (tls.address() as AddressInfo).port];
      daemon = await startDaemon(['--warm', '0', '--allow-hosts', host, '--ports', `80,443,${plain},${secure}`]);
      const egress = { mode: 'allowlist' as const, domains: [host, '*.example.com'] };
      assert.equal((await daemon.create(open, { backend, egress })).status, 200);
      assert.equal((await daemon.create(closed, { backend })).status, 200);
    });
    after(async () => {
      await daemon.stop();
      http.close();
      tls.close();
      rmSync(directory, { recursive: true });
    });
    const curl = async (id: string, words: string): Promise<string> =>
      (await daemon.exec(id, { shell: `NO_PROXY= no_proxy= curl -sS -m 10 ${words} 2>&1` })).stdout;

    test('an allowed host is reached over HTTP, HTTPS and SOCKS', async () => {
      assert.equal(await curl(open, `http://${host}:${plain}/a?b -d xyz`), `POST ${host} /a?b`);
      assert.equal(await curl(open, `-k https://${host}:${secure}/`), 'secret');
      assert.equal(await curl(open, `-k -x socks5h://127.0.0.1:8080 https://${host}:${secure}/`), 'secret');
      assert.equal(await curl(open, `-x socks5h://127.0.0.1:8080 http://${host}:${plain}/c`), `GET ${host} /c`);
    });

    test('a host that is not allowed, an address and a name without rules are refused', async () => {
      assert.match(
        await curl(open, `http://other.test:${plain}/`),
        /egress: other\.test is not in the allowlist of this sandbox/,
      );
      assert.match(await curl(open, `http://127.0.0.1:${plain}/`), /egress: 127\.0\.0\.1 is not in the allowlist/);
      assert.match(await curl(open, `-k https://127.0.0.1:${secure}/`), /403/);
      assert.match(
        await curl(closed, `http://${host}:${plain}/`),
        /egress: localhost is not reached: this sandbox has no egress/,
      );
      assert.match(await curl(open, `http://${host}:1/`), /egress: this address is not allowed/);
    });

    ofTheShim('another name inside an allowed connection ends it', async () => {
      assert.doesNotMatch(
        await curl(open, `-k --connect-to other.test:443:${host}:${secure} https://other.test/`),
        /secret/,
      );
      const fronted = await curl(open, `-H 'Host: other.test' http://${host}:${plain}/`);
      assert.doesNotMatch(fronted, /GET other/);
      const code = `import socket,ssl
s=socket.create_connection(("127.0.0.1",8080)); s.sendall(b"CONNECT ${host}:${secure} HTTP/1.1\\r\\n\\r\\n"); print(s.recv(100)[:12])
c=ssl._create_unverified_context()
try: c.wrap_socket(s); print("reached")
except OSError as e: print("ended")`;
      assert.match((await daemon.exec(open, { language: 'python', code })).stdout, /200[\s\S]*ended/);
    });

    ofTheShim('what cannot be understood, and who hangs up at once, ends nothing but itself', async () => {
      const code = `import socket, struct
asked = ["CONNECT a:\\u00b2 HTTP/1.1", "CONNECT a:" + "9" * 5000 + " HTTP/1.1", "GET http://a:\\u00b2/ HTTP/1.1"]
for line in asked * 20 + ["CONNECT ${host}:${plain} HTTP/1.1"] * 20 + ["\\5\\1\\0"] * 20:
  for hang in (False, True):
    s = socket.create_connection(("127.0.0.1", 8080))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.sendall(line.encode("latin-1") + (b"" if line[0] == "\\5" else b"\\r\\n\\r\\n"))
    if not hang: assert s.recv(100)
    s.close()
print("alive")`;
      const done = await daemon.exec(open, { language: 'python', code });
      assert.equal(done.stdout, 'alive\n', done.stderr);
      assert.equal(await curl(open, `http://${host}:${plain}/`), `GET ${host} /`);
    });

    test('there is no route but the proxy, and no name is ever asked for', async () => {
      const code = `import socket
for what in (lambda: socket.create_connection(("1.1.1.1", 443), 3), lambda: socket.create_connection(("127.0.0.1", ${plain}), 3), lambda: socket.getaddrinfo("example.com", 80)):
  try: what(); print("reached")
  except OSError: print("no")`;
      assert.equal((await daemon.exec(open, { language: 'python', code })).stdout, 'no\nno\nno\n');
    });

    ofTheShim('many connections at once arrive whole', async () => {
      const urls = Array.from({ length: 30 }, (_, index) => `http://${host}:${plain}/${index}`).join(' ');
      const done = await daemon.exec(open, {
        shell: `for u in ${urls}; do curl -sS -m 10 --noproxy '' $u & done; wait`,
      });
      assert.equal(done.stdout.match(/GET localhost/g)?.length, 30);
    });
  });
}
