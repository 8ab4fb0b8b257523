import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@svc/sdk';
import { openApprovals } from '../apps/host/src/runs/approvals.ts';
import { pauseMs } from '../apps/server/src/testing.ts';
import { freePort, killAll, type Platform, type Running, start, startPlatform, temporaryFolder } from './platform.ts';

/** `SVC_TEST_OVERLAPS=50` is what was shown. */
const rounds = Number(process.env['SVC_TEST_OVERLAPS'] ?? 2);
const hangMs = 180_000;

/** A line to the platform that can stop forwarding, and go on with all that was sent meanwhile. */
class Line implements AsyncDisposable {
  readonly #server = createServer((near) => this.#join(near));
  readonly #sockets = new Set<Socket>();
  readonly #port: number;
  #isStalled = false;

  constructor(port: number) {
    this.#port = port;
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stall(): void {
    this.#isStalled = true;
    for (const socket of this.#sockets) socket.pause();
  }

  resume(): void {
    this.#isStalled = false;
    for (const socket of this.#sockets) socket.resume();
  }

  #join(near: Socket): void {
    const far = connect(this.#port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => void to.write(chunk));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isStalled) from.pause();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** A daemon behind a line of its own. */
interface Host {
  line: Line;
  daemon: Running;
  deviceId: string;
  state: string;
}

describe('runs that replace each other on machines whose network stalls', () => {
  const folder = temporaryFolder();
  const root = join(folder.path, 'root');
  const marksFile = join(root, 'marks');
  let platform: Platform;
  const hosts: Host[] = [];

  before(async () => {
    platform = await startPlatform(join(folder.path, 'data'), await freePort());
    mkdirSync(root);
    for (const name of ['one', 'two']) hosts.push(await startHost(name));
  });
  after(async () => {
    for (const { line } of hosts) await line[Symbol.asyncDispose]();
    await platform.end();
    killAll();
    await folder.remove();
  });

  const client = () => createClient({ baseUrl: platform.url, apiKey: platform.key });

  async function startHost(name: string): Promise<Host> {
    const line = new Line(platform.port);
    const state = join(folder.path, `${name}.state`);
    const words = ['--state-dir', state, '--name', name, '--roots', root, '--allow-shell'];
    const daemon = start(['host', 'run', ...words], { SVC_API_KEY: platform.key, SVC_BASE_URL: await line.open() });
    const [, deviceId = ''] = await daemon.printed(new RegExp(`connected as ${name} \\(([0-9a-f-]{36})\\)`));
    return { line, daemon, deviceId, state };
  }

  /** Creates a shell schedule that the machines have approved. */
  async function schedule(name: string, command: string, fields: object): Promise<string> {
    const trigger = { type: 'event', trigger_id: 'never' } as const;
    const body = { name, kind: 'shell', spec: { command }, trigger, ...fields } as const;
    const { id, command_hash: hash = '' } = await client().schedules.create({ body });
    for (const { deviceId, state } of hosts) {
      const approval = { schedule_id: id, name, command_hash: hash, approved_at: new Date().toISOString() };
      await openApprovals(join(state, 'approvals.json')).add(approval);
      const device = createClient({ baseUrl: platform.url, apiKey: platform.key, device: { id: deviceId } });
      await device.schedules.approveCommand({ params: { id }, body: { command_hash: hash } });
    }
    return id;
  }

  const runNow = async (id: string): Promise<string> => {
    const { run_id } = await client().schedules.run({ params: { id } });
    return run_id ?? assert.fail('the run was not queued');
  };
  const runOf = async (schedule: string, id: string) => {
    const { runs } = await client().schedules.runs({ params: { id: schedule }, query: { limit: 50 } });
    return runs.find((run) => run.id === id) ?? assert.fail(`no run ${id}`);
  };

  async function until(look: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const begun = performance.now();
    for (let waited = 0; !(await look()); await sleep(pauseMs(waited))) {
      waited = performance.now() - begun;
      if (waited > hangMs) throw new Error(`not within ${hangMs} ms: ${what}\n${marks().join('\n')}`);
    }
  }

  const marks = (): string[] => (existsSync(marksFile) ? readFileSync(marksFile, 'utf8').trim().split('\n') : []);
  /** No process began while another one had the lock. */
  const checkMarks = (): void => {
    assert.deepEqual(
      marks().filter((mark) => !mark.startsWith('begin ')),
      [],
    );
  };

  /** Takes a lock for as long as its process lives, says that it began, and is slow to end. */
  const command = `exec 9> marks.lock
flock -n 9 || echo "two processes: $SVC_RUN_ID" >> marks
echo "begin $SVC_RUN_ID" >> marks
trap 'sleep 0.1; exit 0' TERM
sleep 3600 9>&- & wait`;

  test(`in ${rounds} rounds of kill and cancel there are never two processes, and the successor always comes`, {
    timeout: 600_000 + 20_000 * rounds,
  }, async () => {
    const id = await schedule('work', command, { overlap: 'kill' });
    const markers = await Promise.all(
      hosts.map(({ deviceId: device_id }, at) =>
        schedule(`marker ${at}`, 'true', { target: { type: 'host', device_id } }),
      ),
    );
    let current = await runNow(id);
    for (let round = 0; round < rounds; round += 1) {
      await until(() => marks().at(-1) === `begin ${current}`, `round ${round}: the run began`);
      const { device_id: holder } = await runOf(id, current);
      const at = hosts.findIndex(({ deviceId }) => deviceId === holder);
      const { line } = hosts[at] ?? assert.fail(`no host ${holder}`);
      // Before the end is ordered, when it was, or not at all; by cancel, or by the next run.
      const [stalls, cancels] = [round % 3, Math.floor(round / 3) % 2 === 0];
      if (stalls === 0) line.stall();
      if (cancels) await client().scheduler.cancel({ params: { id: current } });
      const next = await runNow(id);
      if (stalls === 1) line.stall();
      if (stalls === 0) {
        // The other machine took a run that was due later: the successor was unavailable to it.
        const other = markers[1 - at] ?? assert.fail('no marker');
        const marker = await runNow(other);
        await until(async () => (await runOf(other, marker)).state === 'succeeded', `round ${round}: the marker`);
        assert.deepEqual([marks().at(-1), (await runOf(id, next)).state], [`begin ${current}`, 'pending']);
      }
      line.resume();
      current = next;
      checkMarks();
    }
    await until(() => marks().at(-1) === `begin ${current}`, 'the last run began');
    checkMarks();
    assert.equal(marks().filter((mark) => mark.startsWith('begin')).length, rounds + 1);
  });

  test('a machine that stays away ends its process by itself before the lease is over and the successor begins', {
    timeout: 2 * hangMs,
  }, async () => {
    const id = await schedule('away', command.replaceAll('marks', 'away.marks'), { overlap: 'kill' });
    const file = join(root, 'away.marks');
    const said = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);
    const first = await runNow(id);
    await until(() => said().at(-1) === `begin ${first}`, 'the run began');
    const { device_id: holder } = await runOf(id, first);
    const host = hosts.find(({ deviceId }) => deviceId === holder) ?? assert.fail(`no host ${holder}`);
    host.line.stall();
    const second = await runNow(id);
    await until(() => said().at(-1) === `begin ${second}`, 'the successor began');
    assert.deepEqual(said(), [`begin ${first}`, `begin ${second}`]);
    assert.notEqual((await runOf(id, second)).device_id, holder);
    host.line.resume();
  });
});
