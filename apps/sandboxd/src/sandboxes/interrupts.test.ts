import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import type { Forked, Resumed } from '@svc/sandboxd-api';
import { type Daemon, skip, startDaemon } from '../testing.ts';

/** Waits in the calls that a restore interrupts, and says what each gave in the end. */
const waitingPython = `import os, socket, threading
def tell(name, wait):
    def run():
        os.write(1, f'{name} {wait()}\\n'.encode())
    threading.Thread(target=run).start()
os.mkfifo('/tmp/python-fifo')
server = socket.create_server(('127.0.0.1', 4811))
client = socket.create_connection(server.getsockname())
peer = server.accept()[0]
tell('open', lambda: open('/tmp/python-fifo').read())
tell('accept', lambda: (server.accept()[0].recv(9), client.send(b'fed'))[0])
tell('recv', lambda: peer.recv(9))
print('ready', flush=True)
`;
const waitingNode = `import { readFile } from 'node:fs';
import { createServer } from 'node:net';
import { execFileSync } from 'node:child_process';
execFileSync('mkfifo', ['/tmp/node-fifo']);
readFile('/tmp/node-fifo', 'utf8', (error, text) => console.log('open', error?.code ?? text));
const server = createServer((socket) => socket.on('data', (data) => { console.log('accept', String(data)); server.close(); socket.end(); }));
server.listen(4812, '127.0.0.1', () => console.log('ready'));
`;
/** Feeds all that waits, and shows what came of it. */
const feed = `for fifo in python node; do timeout 9 sh -c "echo fed > /tmp/$fifo-fifo"; done
python3 - <<'X'
import socket
for port in (4811, 4812): socket.create_connection(('127.0.0.1', port)).send(b'fed')
X
timeout 20 sh -c 'until [ "$(cat python.log node.log | grep -c fed)" = 5 ]; do sleep 0.05; done'
cat python.log node.log | grep . | sort`;
const fed = `accept b'fed'\naccept fed\nopen fed\nopen fed\nready\nready\nrecv b'fed'\n`;

describe('calls that wait', { skip }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startDaemon(['--warm', '0']);
  });
  after(() => daemon.stop());
  const at = (id: string, path: string) => `/v1/sandboxes/${id}${path}`;
  const later = () => ({ expires_at: Date.now() + 600_000 });
  const make = async (): Promise<string> => {
    const id = randomUUID();
    assert.equal((await daemon.create(id)).status, 200);
    return id;
  };

  test('a pause that is refused for a deleted file interrupts no call that waits, and keeps connections', async () => {
    const id = await make();
    const start = `mkfifo /tmp/fifo; (cat /tmp/fifo > got 2>&1; echo "cat $?" >> got) &
python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 4810)); c = s.accept()[0]
while data := c.recv(99): c.send(data)' > /dev/null 2>&1 &
exec 3> gone; rm gone; sleep 5000 > /dev/null 2>&1 & sleep 0.2`;
    await daemon.exec(id, { shell: start });
    const connection = await daemon.port(id, 4810);
    assert.equal((await daemon.call('POST', at(id, '/pause'))).status, 409);
    connection.write('still here');
    const ended = once(connection, 'close').then(() => assert.fail('the connection ended'));
    const [data] = await Promise.race([once(connection, 'data'), ended]);
    assert.equal(String(data), 'still here');
    ended.catch(() => {});
    connection.destroy();
    const done = await daemon.exec(id, {
      shell: 'timeout 9 sh -c "echo fed > /tmp/fifo"; until grep -q ^cat got; do sleep 0.05; done; cat got',
    });
    assert.equal(done.stdout, 'fed\ncat 0\n');
  });

  const onX64 = process.arch === 'x64' ? false : 'the runtime is mended for x64 only';
  test('no event comes after a resume or fork of what a program had removed', { skip: onX64 }, async () => {
    const id = await make();
    // Both were ready and found not to be in one look; that kept the one that is removed in the snapshot.
    const begun = await daemon.code(
      id,
      `import os, select
e = select.epoll()
a, b = os.eventfd(0), os.eventfd(0)
for fd in (a, b): e.register(fd, select.EPOLLIN)
for fd in (a, b): os.eventfd_write(fd, 1); os.eventfd_read(fd)
first = e.poll(0)
e.unregister(b); os.eventfd_write(b, 1)
(first, e.poll(0))`,
    );
    assert.equal(begun.result, '([], [])');
    const child = randomUUID();
    await daemon.call<Forked>('POST', at(id, '/fork'), { children: [{ id: child, ...later() }] });
    assert.equal((await daemon.call('POST', at(id, '/pause'))).status, 200);
    assert.equal((await daemon.call<Resumed>('POST', at(id, '/resume'), later())).body.restored, true);
    for (const each of [id, child]) {
      const looked = await daemon.code(each, 'none = e.poll(0); os.eventfd_write(a, 1); (none, e.poll(0) == [(a, 1)])');
      assert.equal(looked.result, '([], True)');
    }
  });

  test('Python and Node.js call again after a resume, and in a parent and child after a fork', async () => {
    const id = await make();
    const start = async (of: string) => {
      const write = `cat > wait.py; nohup python3 -u wait.py > python.log 2>&1 &`;
      await daemon.exec(of, { shell: write, stdin: waitingPython });
      await daemon.exec(of, {
        shell: `cat > wait.mjs; nohup node wait.mjs > node.log 2>&1 &
until grep -q ready python.log && grep -q ready node.log; do sleep 0.05; done`,
        stdin: waitingNode,
      });
    };
    await start(id);
    const child = randomUUID();
    const forked = await daemon.call<Forked>('POST', at(id, '/fork'), { children: [{ id: child, ...later() }] });
    assert.equal(forked.body.children[0]?.restored, true);
    assert.equal((await daemon.exec(child, { shell: feed })).stdout, fed);
    assert.equal((await daemon.call('POST', at(id, '/pause'))).status, 200);
    assert.equal((await daemon.call<Resumed>('POST', at(id, '/resume'), later())).body.restored, true);
    assert.equal((await daemon.exec(id, { shell: feed })).stdout, fed);
  });
});
