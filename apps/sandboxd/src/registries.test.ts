import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { defaultPypiHosts, npmHosts, registriesOf } from './registries.ts';
import { skip, startDaemon, until } from './testing.ts';

test('pip is told of an index only where it is another than its own', () => {
  assert.deepEqual(registriesOf({ pypi: defaultPypiHosts.split(','), npm: [] }).env, { pypi: {}, npm: {} });
  assert.deepEqual(
    registriesOf({ pypi: ['http://mirror.example:8081/py/simple/', 'files.example'], npm: ['n.example'] }),
    {
      hosts: { pypi: ['mirror.example', 'files.example'], npm: ['n.example'] },
      env: {
        pypi: { PIP_INDEX_URL: 'http://mirror.example:8081/py/simple/', PIP_TRUSTED_HOST: 'mirror.example:8081' },
        npm: { npm_config_registry: 'https://n.example/' },
      },
    },
  );
});

test("the preset npm is what npm is set to on this machine, without this machine's password", async (t) => {
  const before = process.env['npm_config_registry'];
  t.after(() => {
    if (before === undefined) delete process.env['npm_config_registry'];
    else process.env['npm_config_registry'] = before;
  });
  process.env['npm_config_registry'] = 'http://n.example:4873/npm/';
  assert.deepEqual(await npmHosts(assert.fail), ['http://n.example:4873/npm/']);
  // Some versions of npm say an address with a password as it is, others refuse.
  process.env['npm_config_registry'] = 'http://me:secret@n.example:4873/npm/';
  const hosts = await npmHosts((message) => assert.match(message, /^npm does not say/));
  assert.doesNotMatch(hosts.join(), /secret/);
});

describe('a node with registries of its own', { skip }, () => {
  test('names them inside, to the sandboxes of their preset alone; what no sandbox needs any more goes', async () => {
    const daemon = await startDaemon(['--warm', '0', '--pypi-hosts', 'py.example', '--npm-hosts', 'npm.example']);
    try {
      const [pypi, npm, none] = [randomUUID(), randomUUID(), randomUUID()];
      await daemon.create(pypi, { backend: 'v1', egress: { mode: 'preset', preset: 'pypi' } });
      await daemon.create(npm, { backend: 'v1', egress: { mode: 'preset', preset: 'npm' } });
      await daemon.create(none);
      const shell = 'echo $PIP_INDEX_URL $npm_config_registry';
      assert.equal((await daemon.exec(pypi, { shell })).stdout, 'https://py.example/simple/\n');
      assert.equal((await daemon.exec(npm, { shell })).stdout, 'https://npm.example/\n');
      assert.equal((await daemon.exec(none, { shell })).stdout, '\n');
      const own = await daemon.exec(pypi, { shell, env: { PIP_INDEX_URL: 'mine' } });
      assert.equal(own.stdout, 'mine\n');
      assert.equal(
        (await daemon.code(pypi, 'import os; os.environ["PIP_INDEX_URL"]')).result,
        "'https://py.example/simple/'",
      );
      const dns = `import socket, struct
s = socket.create_connection(('127.0.0.1', 53))
q = b'ab' + struct.pack('!HHHHH', 256, 1, 0, 0, 0) + b'\\x01x\\x00' + struct.pack('!HH', 1, 1)
s.sendall(struct.pack('!H', len(q)) + q)
said = s.recv(600)
print(len(said) == len(q) + 2, said[2:4], said[5] & 15, s.recv(1))`;
      const asked = await daemon.exec(none, { language: 'python', code: dns });
      assert.equal(asked.stdout, "True b'ab' 5 b''\n", asked.stderr);

      const [used] = readdirSync(join(daemon.dir, 'guest'));
      await daemon.terminate();
      for (const stale of ['guest/0123', 'golden/svc-base-0123', 'golden/svc-base-0123.new']) {
        mkdirSync(join(daemon.dir, stale), { recursive: true });
      }
      await daemon.again();
      assert.deepEqual(readdirSync(join(daemon.dir, 'guest')), [used]);
      const golden = () => readdirSync(join(daemon.dir, 'golden')).filter((name) => name.includes('0123'));
      await until(() => golden().length === 0, 'the snapshots that nothing uses to go');
      assert.equal((await daemon.exec(none, { cmd: ['echo', 'here'] })).stdout, 'here\n');
    } finally {
      await daemon.stop();
    }
  });
});
