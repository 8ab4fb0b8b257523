import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { http, until } from '../../testing.ts';
import { bootScript } from './clouds.boot.ts';
import { openClouds, scriptOf } from './clouds.places.testing.ts';

const isRoot = process.getuid?.() === 0 && process.platform === 'linux';

/** An address that is known before the gateway behind it listens. */
async function openLine() {
  let target: URL | undefined;
  const server = createServer((socket) => {
    const other = connect(Number(target?.port), '127.0.0.1');
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      one.on('error', () => two.destroy());
      one.pipe(two);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead: (url: string) => (target = new URL(url)),
    [Symbol.asyncDispose]: async () => {
      server.close();
    },
  };
}

/**
 * A fresh machine: a root of its own with the programs of this one, a systemd that starts what it is told to, and a package
 * manager that has Node.js, or nothing. All that it starts ends with it.
 */
class Machine implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'svc-machine-'));
  #booted: ReturnType<typeof spawn> | undefined;

  constructor(packages: 'node' | 'none') {
    const folders = [
      'usr',
      'dev',
      'proc',
      'tmp',
      'root',
      'opt',
      'fake',
      'pool',
      'etc/systemd/system',
      'var/lib/cloud/instance/scripts',
    ];
    for (const folder of folders) mkdirSync(join(this.root, folder), { recursive: true });
    writeFileSync(join(this.root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
    writeFileSync(join(this.root, 'etc/hosts'), '127.0.0.1 localhost\n');
    // Too old, as far as the script sees.
    this.#program('node', 'echo false');
    this.#program('apt-get', packages === 'node' ? '[ "$1" = update ] || ln -sf /pool/node /fake/node' : 'exit 1');
    this.#program(
      'systemctl',
      `echo "$*" >>/systemctl.log
[ "$1" = enable ] || exit 0
unit=/etc/systemd/system/$3
cd "$(sed -n 's/^WorkingDirectory=//p' "$unit")"
export "$(sed -n 's/^Environment=//p' "$unit")"
$(sed -n 's/^ExecStart=//p' "$unit") >/daemon.log 2>&1 &`,
    );
  }

  #program(name: string, script: string): void {
    const path = join(this.root, 'fake', name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  }

  read = (path: string): string => readFileSync(join(this.root, path), 'utf8');

  /** Boots it with this script; resolves with its exit code and what it said. */
  async boot(script: string): Promise<{ code: number; said: string }> {
    writeFileSync(join(this.root, 'var/lib/cloud/instance/user-data.txt'), script);
    const part = '/var/lib/cloud/instance/scripts/part-001';
    writeFileSync(join(this.root, part), script, { mode: 0o700 });
    // Distributions have these as links into /usr, or as folders.
    const shares = ['usr', 'bin', 'sbin', 'lib', 'lib64'].filter((name) => existsSync(`/${name}`));
    const steps = shares.map((name) => `mkdir -p ${this.root}/${name} && mount --rbind /${name} ${this.root}/${name}`);
    const inside = [
      ...steps,
      `mount --rbind /dev ${this.root}/dev`,
      `mount --bind ${dirname(process.execPath)} ${this.root}/pool`,
      `mount -t proc proc ${this.root}/proc`,
      `chroot ${this.root} /usr/bin/env -i PATH=/fake:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root sh ${part}; echo "code=$?" >&2`,
      'exec sleep 600',
    ]
      .join(' && ')
      .replace('; echo', ' ; echo')
      .replace(' && exec sleep', '\nexec sleep');
    const booted = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', inside]);
    this.#booted = booted;
    let said = '';
    booted.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    booted.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until(() => /code=\d+/.test(said) || booted.exitCode !== null);
    return { code: Number(/code=(\d+)/.exec(said)?.[1] ?? Number.NaN), said };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#booted?.kill('SIGKILL')) await once(this.#booted, 'exit');
    // What ran inside ends with it, a moment later, and writes until then.
    rmSync(this.root, { recursive: true, force: true, maxRetries: 20 });
  }
}

describe('the first boot of a machine at a provider', { skip: !isRoot && 'it needs root on Linux' }, () => {
  for (const packages of ['node', 'none'] as const) {
    const from = packages === 'node' ? 'its distribution' : 'the gateway';
    test(`with Node.js of ${from} it enrols, serves as a service, and its environment runs`, async () => {
      await using line = await openLine();
      await using c = await openClouds({ settings: { SVC_BASE_URL: line.url } });
      line.lead(c.t.gateway.url);
      const id = await c.make();
      await c.turn();
      const script = scriptOf([c.fake], id);
      assert.ok(Buffer.byteLength(script) < 12_000, 'EC2 takes 16 KB');
      await using machine = new Machine(packages);
      const { code, said } = await machine.boot(script);
      assert.equal(code, 0, said);
      await until(async () => {
        const { state } = await c.see(id);
        return state === 'running';
      }).catch(() => assert.fail(`${said}\n${machine.read('daemon.log')}`));
      assert.equal(machine.read('systemctl.log'), 'daemon-reload\nenable --now svc-host.service\n');
      assert.equal(existsSync(join(machine.root, 'opt/svc/node')), packages === 'none');
      const key = join(machine.root, 'var/lib/svc-host/host.key');
      assert.equal(statSync(key).mode & 0o777, 0o600);
      // The script, its token and what cloud-init keeps of them are gone; what is left of the token is worth nothing.
      assert.equal(existsSync(join(machine.root, 'var/lib/cloud/instance/user-data.txt')), false);
      assert.equal((await c.enrol(id)).status, 401);
      // The key serves, and does nothing else.
      const answer = await http(c.t.gateway.url, '/v1/environments', { key: readFileSync(key, 'utf8').trim() });
      assert.equal(answer.status, 403);
      // Whoever works there has a user of its own.
      const [member] = (await c.ask('GET', `/v1/environments/${id}/members`)).body.members;
      await until(() => machine.read('etc/passwd').includes(`\n${member.linux_username}:`)).catch(() =>
        assert.fail(machine.read('daemon.log')),
      );
    });
  }

  test('a daemon with another hash than the gateway said is not started', async () => {
    await using c = await openClouds();
    await using machine = new Machine('node');
    const node = { machine: '', path: '/', sha256: '' };
    const script = bootScript({ baseUrl: c.t.gateway.url, token: 'svc_env_x', sha256: '0'.repeat(64), node });
    // One try is enough to see it.
    const { code, said } = await machine.boot(script.replace('-lt 30', '-lt 1').replace('sleep 5', ':'));
    assert.equal(code, 1, said);
    assert.match(said, /has another hash than it should have/);
    assert.equal(existsSync(join(machine.root, 'opt/svc/host.mjs')), false);
  });
});

test('a token or an address with quotes stays a word of the script', async () => {
  const node = { machine: '', path: '/', sha256: '' };
  const script = bootScript({ baseUrl: "http://x/'$(id)'", token: "a'b", sha256: '', node });
  const shell = spawn('sh', ['-c', `${script.split('\nfolder=')[0]}\nprintf '%s %s' "$url" "$token"`]);
  assert.equal(await text(shell.stdout), "http://x/'$(id)' a'b");
});
