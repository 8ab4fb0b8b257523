import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { HttpAnswer } from '../apps/server/src/testing.ts';
import {
  type Json,
  openSandboxes,
  type SandboxesTest,
  startNode,
  type TestNode,
} from '../apps/server/src/features/sandboxes/sandboxes.testing.ts';
import { openWorld, type World } from './escapes/world.ts';

/** A try of `escapes/corpus.json`: what prints ESCAPED on its standard output has got out. */
interface Attempt {
  name: string;
  shell?: string;
  python?: string;
  /** A command run after the try, to see what it left. */
  then?: string;
  egress?: 'allowlist';
  /** Its own sandbox may end of it; nobody else's may. */
  mayDie?: boolean;
  /** Seconds. */
  timeout?: number;
  /** Takes long, and is let loose on a node of its own by the tests of sandboxd too. */
  hog?: boolean;
}

const corpus = JSON.parse(readFileSync(join(import.meta.dirname, 'escapes/corpus.json'), 'utf8')) as Attempt[];
const domains = ['allowed.example', 'rebind.example', '127.0.0.1.nip.io', '*.wild.example'];
/** Every attempt on both backends takes ten minutes: without this each is made on one of them. */
const everywhere = process.env['SVC_TEST_ESCAPES'] === 'all';
const images = process.env['SVC_TEST_IMAGES'];
const skip = images === undefined ? 'no sandboxes on this machine' : false;

/** Something for attackers to find in another account's sandbox. */
const settle = `
printf '%s' "$SECRET" > neighbour-secret
(exec -a neighbour-process sleep 86399) > /dev/null 2>&1 & echo $! > pid
nohup python3 -c '
import ctypes, http.server, socket
ctypes.CDLL(None).shmget(0x53564331, 4096, 0o1666)
s = socket.socket(socket.AF_UNIX); s.bind("\\0neighbour"); s.listen()
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"neighbour")
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 3777), H).serve_forever()
' > /dev/null 2>&1 &
until curl -s --noproxy '*' http://127.0.0.1:3777/ > /dev/null; do sleep 0.1; done`;
const look = `kill -0 $(cat pid) && cat neighbour-secret && curl -s --noproxy '*' -m 30 http://127.0.0.1:3777/`;

describe('what code in a sandbox tries', { skip }, () => {
  const secret = 'the neighbour’s own';
  let world: World;
  let node: TestNode;
  let t: SandboxesTest;
  let neighbours: SandboxesTest;
  const boxes: Json[] = [];

  before(async () => {
    world = await openWorld();
    const args = ['--allow-hosts', 'allowed.example', '--ports', `80,443,${world.port}`, '--log-level', 'error'];
    node = await startNode({ images: images ?? '', args });
    t = await openSandboxes({ socket: node.socket });
    neighbours = await t.fresh();
    for (const backend of ['v1', 'v2']) {
      const box = await neighbours.create({ backend });
      const settled = await neighbours.exec(box, { shell: settle, env: { SECRET: secret } });
      assert.equal(settled.exit_code, 0, settled.stderr);
      boxes.push(box);
    }
  });
  after(async () => {
    await t?.close();
    await node?.close();
    await world?.close();
  });

  /** Neither the host, nor the node, nor a neighbour is other than it was. */
  async function untouched(): Promise<void> {
    assert.deepEqual(world.hits(), []);
    world.unchanged();
    for (const box of boxes) {
      const { stdout, stderr } = await neighbours.exec(box, look);
      assert.equal(stdout, `${secret}neighbour`, `a neighbour on ${box.backend}: ${stderr}`);
    }
    await node.client.node();
  }

  for (const backend of ['v2', 'v1']) {
    describe(backend, () => {
      const attackers = new Map<string, Json>();
      before(async () => {
        t = await t.fresh();
      });
      after(() => t.clear());

      const attackerOf = async (mode: 'none' | 'allowlist'): Promise<Json> => {
        const egress = mode === 'none' ? { mode } : { mode, domains };
        const attacker = attackers.get(mode) ?? (await t.create({ backend, egress }));
        attackers.set(mode, attacker);
        return attacker;
      };
      const send = (box: Json, command: Json): Promise<HttpAnswer> =>
        t.call('POST', `/v1/sandboxes/${box.id}/exec`, command);

      async function attack(attempt: Attempt): Promise<void> {
        const mode = attempt.egress ?? 'none';
        const box = await attackerOf(mode);
        // Drops the hits of earlier attempts.
        world.hits();
        const values = { ...world.values, socket: node.socket };
        const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (all, name) => (values as Json)[name] ?? all);
        const code = fill(attempt.shell ?? attempt.python ?? '');
        const command = attempt.shell === undefined ? { language: 'python', code } : { shell: code };
        const { status, body } = await send(box, { ...command, timeout_seconds: attempt.timeout ?? 30 });
        assert.doesNotMatch(String(body.stdout), /ESCAPED/, JSON.stringify(body));
        if (attempt.then !== undefined) {
          assert.doesNotMatch((await t.exec(box, fill(attempt.then))).stdout, /ESCAPED/);
        }
        if (attempt.mayDie) {
          attackers.delete(mode);
          await untouched();
          assert.equal((await t.call('DELETE', `/v1/sandboxes/${box.id}`)).status, 200);
          return;
        }
        // A sandbox that an attempt has ended answers the next one with another status; asking each time doubles
        // what all cost.
        assert.equal(status, 200, `it, or the attempt before it, ended the sandbox: ${JSON.stringify(body)}`);
        assert.deepEqual(world.hits(), []);
        world.unchanged();
      }

      test('what is allowed works: an attempt that fails does so for a reason', async () => {
        const box = await attackerOf('allowlist');
        assert.equal((await t.exec(box, `curl -s http://allowed.example:${world.port}/`)).stdout, 'front');
        assert.equal(await (await fetch(`http://127.0.0.1:${world.port}/`)).text(), 'canary');
        assert.equal(world.hits().length, 1);
      });
      const turn = backend === 'v2' ? 0 : 1;
      const own = corpus.filter(({ hog }, index) => everywhere || (!hog && index % 2 === turn));
      for (const attempt of own) test(`does not get out: ${attempt.name}`, () => attack(attempt));
      test('the host, the node and the neighbours are as they were, and the attackers live', async () => {
        for (const box of attackers.values()) assert.equal((await t.exec(box, 'echo alive')).stdout, 'alive\n');
        await untouched();
      });
    });
  }
});
