import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { providersFile, TestProvider } from '../apps/server/src/features/inference/inference.testing.ts';
import { judges, verdictOf } from '../apps/server/src/features/prompts/prompts.testing.ts';
import { until } from '../apps/server/src/testing.ts';
import {
  freePort,
  killAll,
  noSandboxes,
  type Platform,
  type Running,
  run,
  runHere,
  start,
  startPlatform,
  temporaryFolder,
} from './platform.ts';

/** The command line of a process; empty when the process is gone. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** A way to a gateway on which a daemon can be killed before or after one of its requests. */
async function startLine(target: () => string) {
  let armed: { moment: string; kill: () => Promise<unknown>; done: () => void } | undefined;
  const strike = async (moment: string): Promise<boolean> => {
    if (armed?.moment !== moment) return false;
    const { kill, done } = armed;
    armed = undefined;
    await kill();
    done();
    return true;
  };
  const nameOf = (url: string, body: string): string =>
    url.endsWith('/ack') ? 'ack' : (['turn_start', 'turn_end'].find((type) => body.includes(`"${type}"`)) ?? 'other');
  /** Requests of a prompt that are on their way. */
  const busy = new Set<IncomingMessage>();
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const what = nameOf(request.url ?? '', body.toString());
      if (what !== 'other') busy.add(request);
      response.once('close', () => busy.delete(request));
      if (await strike(`before ${what}`)) throw new Error('killed');
      const { host: _host, 'content-length': _length, ...headers } = request.headers;
      const sent = httpRequest(`${target()}${request.url}`, { method: request.method, headers });
      response.on('close', () => sent.destroy());
      sent.end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      if (await strike(`after ${what}`)) throw new Error('killed');
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      await pipeline(answer, response);
    })().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What was told of the prompts before has arrived. */
    isStill: () => busy.size === 0,
    killAt(moment: string, kill: () => Promise<unknown>): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      armed = { moment, kill, done: resolve };
      return promise;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const task = 'Write a file named done.txt in the project that says which tests of the importer fail and why they do';

describe('a prompt over two gateways and a daemon', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const provider = new TestProvider();
  const closing = new AsyncDisposableStack();
  let gateways: Platform[];
  let environment: Record<string, string>;
  let key: string;
  let daemon: Running;
  let box: string;
  const project = join(folder.path, 'project');

  const phoneOn = (at: number) =>
    createClient({
      baseUrl: gateways[at]?.url ?? '',
      apiKey: key,
      device: { id: phone, name: 'phone', platform: 'phone' },
    });
  const phone = randomUUID();
  /** Waits for a condition even across a gateway that is killed meanwhile. */
  const eventually = (ready: () => Promise<boolean>) => until(() => ready().catch(() => false));

  const startDaemon = async (at: number): Promise<Running> => {
    const running = start(
      ['host', 'run', '--state-dir', join(folder.path, 'host'), '--name', 'box', '--roots', project],
      {
        SVC_API_KEY: key,
        SVC_BASE_URL: gateways[at]?.url ?? '',
      },
    );
    await running.printed(/connected as box/);
    return running;
  };

  before(async () => {
    const { url } = await closing.use(provider).listen();
    const lanes = [{ id: 'judge', kind: 'openai', base_url: `${url}/v1`, models: ['j-1'] }];
    const file = closing.use(providersFile({ lanes, aliases: { 'svc-fast': ['judge'] } }));
    await chmod(join(file.path, '..'), 0o755);
    environment = { ...noSandboxes, SVC_PROVIDERS: file.path };
    gateways = [
      await startPlatform(dataDir, await freePort(), environment),
      await startPlatform(dataDir, await freePort(), environment),
    ];
    key = gateways[0]?.key ?? '';
    await mkdir(project);
    await mkdir(join(folder.path, 'host'), { mode: 0o700 });
    const agent = [
      '/bin/sh',
      '-c',
      'cat > prompt.txt; echo "Working on it."; sleep "${PAUSE:-0}"; echo "two fail" > done.txt; echo "Done."',
    ];
    const policy = { ops: { shell: 'allow', info: 'allow' }, roots: [project], agent: { command: agent } };
    await writeFile(join(folder.path, 'host', 'host.json'), JSON.stringify(policy), { mode: 0o600 });
    daemon = await startDaemon(1);
    box = (await phoneOn(0).devices.list()).devices.find(({ name }) => name === 'box')?.id ?? assert.fail('no box');
  });
  after(async () => {
    await daemon?.end();
    for (const gateway of gateways ?? []) await gateway.end();
    killAll();
    await closing.disposeAsync();
    await folder.remove();
  });

  /** Kills a gateway and starts it again on its port. */
  const crash = async (at: number): Promise<void> => {
    await gateways[at]?.end('SIGKILL');
    gateways[at] = await startPlatform(dataDir, gateways[at]?.port ?? 0, environment);
  };
  /** The whole life of a prompt, with `between` after each step of it. */
  async function live(text: string, between: (step: number) => Promise<void>): Promise<void> {
    const get = async (id: string, at = 0) => (await phoneOn(at).prompts.get({ params: { id } })).prompt;
    const soon = new Date(Date.now() + 3_000).toISOString();
    const { id } = await phoneOn(0).prompts.create({ body: { prompt: text, source: 'phone', not_before: soon } });
    await between(0);
    const told = async (at: number) => {
      const { notifications } = await phoneOn(at).notifications.list();
      return notifications.filter(({ type, url }) => type === 'prompt.due' && url === `svc://prompts/${id}`).length;
    };
    await eventually(async () => (await told(0)) === 1 && (await told(1)) === 1);
    await between(1);
    await phoneOn(0).prompts.launch({ params: { id }, body: { target_device_id: box } });
    await between(2);
    await eventually(async () => ['sent', 'answered'].includes((await get(id, 1)).status));
    await between(3);
    await eventually(async () => (await get(id)).status === 'answered');
    const answered = await get(id, 1);
    assert.equal(answered.match_ref, answered.run_session_id);
    assert.equal(readFileSync(join(project, 'prompt.txt'), 'utf8'), text);
    await between(4);
    const params = { id: answered.run_session_id ?? '' };
    const { events } = await phoneOn(1).sessions.events({ params, query: { limit: 200 } });
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, i) => i + 1),
    );
    for (const type of ['turn_start', 'turn_end'])
      assert.equal(events.filter((event) => event.type === type).length, 1);
    const said = events.flatMap((event) => (event.type === 'delta' ? [event.text] : [])).join('');
    assert.equal(said, 'Working on it.\nDone.\n');
    assert.deepEqual(events.at(-1)?.data, { ok: true, exit_code: 0 });
    judges(provider, verdictOf('done'));
    provider.taken.length = 0;
    const diff = `+++ b/done.txt\n@@\n+${readFileSync(join(project, 'done.txt'), 'utf8')}`;
    const verified = (await phoneOn(0).prompts.verify({ params: { id }, body: { diff } })).prompt;
    assert.equal(verified.status, 'verified');
    const asked = JSON.stringify(provider.taken[0]?.body['messages']);
    for (const part of ['two fail', 'Working on it.', 'which tests of the importer fail'])
      assert.ok(asked.includes(part), part);
    await between(5);
    const done = await phoneOn(1).prompts.update({ params: { id }, body: { status: 'done' } });
    assert.deepEqual([done.prompt.status, await told(0)], ['done', 1]);
  }

  test('is captured on one, told of on both, launched, run by the daemon, matched, answered and verified', async () => {
    await live(task, () => Promise.resolve());
  });

  test('lives the same when a gateway is killed -9 between any two of its steps', { timeout: 600_000 }, async () => {
    await live(`${task}. And this time with gateways that are killed between steps, one after the other.`, (step) =>
      crash(step % 2),
    );
  });

  test('a daemon that is killed before it ran a prompt runs it once, and one that is killed while it runs says so', async () => {
    const client = phoneOn(0);
    const title = { title: 'killed' };
    const { id } = await client.sessions.create({ body: title });
    await daemon.end('SIGKILL');
    const params = { id };
    await client.sessions.sendControl({ params, body: { type: 'send', text: 'Waits', target_device_id: box } });
    /** Ends of turns that began; what a machine refuses ends without a begin. */
    const ends = async () => {
      const { events } = await client.sessions.events({ params, query: { limit: 200 } });
      const begun = new Set(events.flatMap(({ type, turn_id }) => (type === 'turn_start' ? [turn_id] : [])));
      return events.filter(({ type, turn_id }) => type === 'turn_end' && begun.has(turn_id));
    };
    daemon = await startDaemon(0);
    await eventually(async () => (await ends()).length === 1);
    assert.deepEqual((await ends())[0]?.data, { ok: true, exit_code: 0 });
    await writeFile(join(folder.path, 'host', 'secrets.json'), JSON.stringify({ PAUSE: '617' }), { mode: 0o600 });
    const policyPath = join(folder.path, 'host', 'host.json');
    const policy = JSON.parse(readFileSync(policyPath, 'utf8'));
    await writeFile(policyPath, JSON.stringify({ ...policy, agent: { ...policy.agent, env_names: ['PAUSE'] } }));
    await client.sessions.sendControl({ params, body: { type: 'send', text: 'Hangs', target_device_id: box } });
    const said = async (text: string) =>
      (await client.sessions.events({ params, query: { limit: 200 } })).events.some((event) =>
        event.text?.includes(text),
      );
    await eventually(
      async () => (await said('Hangs')) && readFileSync(join(project, 'prompt.txt'), 'utf8') === 'Hangs',
    );
    await daemon.end('SIGKILL');
    daemon = await startDaemon(1);
    await eventually(async () => (await ends()).length === 2);
    assert.deepEqual((await ends())[1]?.data, { ok: false, error: 'the daemon of this host was ended' });
    // A stop ends what runs.
    await client.sessions.sendControl({ params, body: { type: 'send', text: 'Hangs too', target_device_id: box } });
    await eventually(async () => readFileSync(join(project, 'prompt.txt'), 'utf8') === 'Hangs too');
    // Also what waits behind it.
    const { id: waits } = await client.sessions.sendControl({
      params,
      body: { type: 'send', text: 'Never', target_device_id: box },
    });
    await client.sessions.sendControl({ params, body: { type: 'stop', target_device_id: box } });
    await eventually(async () => (await ends()).length === 3);
    assert.deepEqual((await ends())[2]?.data, { ok: false, error: 'stopped' });
    await eventually(() => said('This host did not run the prompt: stopped'));
    const { events } = await client.sessions.events({ params, query: { limit: 200 } });
    assert.deepEqual(
      events.flatMap(({ turn_id, type }) => (turn_id === waits ? [type] : [])),
      ['message', 'turn_end'],
    );
    // A prompt that runs when the account is suspended ends at once, and is reported when it may run again.
    await client.sessions.sendControl({ params, body: { type: 'send', text: 'Hangs last', target_device_id: box } });
    await eventually(async () => readFileSync(join(project, 'prompt.txt'), 'utf8') === 'Hangs last');
    const admin = (act: string) => runHere(dataDir, 'accounts', act, '--email', 'owner@localhost');
    const sleeps = () => readdirSync('/proc').some((pid) => commandOf(pid) === 'sleep\u0000617\u0000');
    await until(sleeps);
    await admin('suspend');
    await until(() => !sleeps());
    await admin('resume');
    await eventually(async () => (await ends()).length === 4);
    assert.deepEqual((await ends())[3]?.data?.['ok'], false);
    await writeFile(policyPath, JSON.stringify(policy));
  });

  test('no more prompts run at once than the policy says; a stop ends one that waits, a deleted session one that runs', async () => {
    const policyPath = join(folder.path, 'host', 'host.json');
    const policy = JSON.parse(readFileSync(policyPath, 'utf8'));
    const agent = [
      '/bin/sh',
      '-c',
      'read -r name; echo $$ > "began-$name"; while [ ! -e "go-$name" ]; do sleep 0.1; done',
    ];
    await writeFile(policyPath, JSON.stringify({ ...policy, parallel: 2, agent: { command: agent } }));
    const client = phoneOn(0);
    const names = ['a', 'b', 'c', 'd'];
    const ids = new Map<string, string>();
    const eventsOf = async (name: string) =>
      (await client.sessions.events({ params: { id: ids.get(name) ?? '' } })).events.map(({ type, text }) => ({
        type,
        text,
      }));
    const began = () => names.filter((name) => existsSync(join(project, `began-${name}`)));
    for (const name of names) {
      const { id } = await client.sessions.create({ body: { title: name } });
      ids.set(name, id);
      await client.sessions.sendControl({
        params: { id },
        body: { type: 'send', text: `${name}\n`, target_device_id: box },
      });
    }
    const acked = async () => (await client.sessions.list()).sessions.length;
    await eventually(async () => (await acked()) >= 4 && began().length === 2);
    const waiting = names.filter((name) => !began().includes(name));
    const [stopped = '', next = ''] = waiting;
    const stop = { params: { id: ids.get(stopped) ?? '' }, body: { type: 'stop', target_device_id: box } };
    await eventually(async () => {
      await client.sessions.sendControl(stop);
      return (await eventsOf(stopped)).some(({ text }) => text === 'This host did not run the prompt: stopped');
    });
    assert.equal(began().length, 2);
    // The session of one that runs is deleted: it ends, and its place is free.
    const [gone = '', other = ''] = began();
    const pid = Number(readFileSync(join(project, `began-${gone}`), 'utf8'));
    await client.sessions.remove({ params: { id: ids.get(gone) ?? '' } });
    await eventually(() => Promise.resolve(!existsSync(`/proc/${pid}`) && began().includes(next)));
    for (const name of [next, other]) await writeFile(join(project, `go-${name}`), '');
    for (const name of [next, other])
      await eventually(async () => (await eventsOf(name)).some(({ type }) => type === 'turn_end'));
    assert.ok(!began().includes(stopped));
    await writeFile(policyPath, JSON.stringify(policy));
  });

  test('a host whose policy asks about prompts runs none that nobody approved, and says why', async () => {
    const policyPath = join(folder.path, 'host', 'host.json');
    const policy = JSON.parse(readFileSync(policyPath, 'utf8'));
    await writeFile(policyPath, JSON.stringify({ ...policy, agent: { ...policy.agent, ask: true } }));
    const client = phoneOn(1);
    const { id } = await client.sessions.create({ body: {} });
    await client.sessions.sendControl({
      params: { id },
      body: { type: 'send', text: 'Not this', target_device_id: box },
    });
    await eventually(async () => (await client.sessions.get({ params: { id } })).seq > 0);
    const { events } = await client.sessions.events({ params: { id } });
    assert.deepEqual(
      events.map(({ type, role }) => [type, role]),
      [
        ['message', 'system'],
        ['turn_end', undefined],
      ],
    );
    assert.match(events[0]?.text ?? '', /did not run the prompt: it asks about each prompt/);
    assert.notEqual(readFileSync(join(project, 'prompt.txt'), 'utf8'), 'Not this');
    await writeFile(policyPath, JSON.stringify(policy));
  });

  test('a control that the daemon does not know is answered in its session', async () => {
    const client = phoneOn(0);
    const { id } = await client.sessions.create({ body: {} });
    await client.sessions.sendControl({ params: { id }, body: { type: 'dance', target_device_id: box } });
    await eventually(async () => (await client.sessions.get({ params: { id } })).seq > 0);
    const { events } = await client.sessions.events({ params: { id } });
    assert.match(events[0]?.text ?? '', /does not know the control dance/);
    assert.equal(events[0]?.data?.['ok'], false);
  });

  test('a prompt runs once and is answered, or never starts once it is dismissed, whenever its daemon is killed -9', {
    timeout: 600_000,
  }, async () => {
    await daemon.end();
    const client = phoneOn(0);
    const policyPath = join(folder.path, 'host', 'host.json');
    const policy = JSON.parse(readFileSync(policyPath, 'utf8'));
    const agent = ['/bin/sh', '-c', 'read -r name; echo started >> "starts-$name"; echo ok'];
    await writeFile(policyPath, JSON.stringify({ ...policy, agent: { command: agent } }));
    const starts = (name: string): number =>
      existsSync(join(project, `starts-${name}`))
        ? readFileSync(join(project, `starts-${name}`), 'utf8')
            .trim()
            .split('\n').length
        : 0;
    /** Between the daemon and its gateway: `step` names what is about to be sent, or was answered, and may end the daemon. */
    const line = await startLine(() => gateways[0]?.url ?? '');
    const startOn = async (url: string): Promise<Running> => {
      const running = start(
        ['host', 'run', '--state-dir', join(folder.path, 'host'), '--name', 'box', '--roots', project],
        { SVC_API_KEY: key, SVC_BASE_URL: url },
      );
      await running.printed(/connected as box/);
      return running;
    };
    const moments = ['ack', 'turn_start', 'turn_end'].flatMap((what) => [`before ${what}`, `after ${what}`]);
    /** How often each was started when it was over: no daemon that comes later starts it again. */
    const over = new Map<string, number>();
    const isKept = (): void => assert.deepEqual(new Map([...over.keys()].map((name) => [name, starts(name)])), over);
    let running = await startOn(line.url);
    for (const moment of moments) {
      for (const isDismissed of [false, true]) {
        const name = `${moment.replace(' ', '-')}-${isDismissed}`;
        await until(line.isStill);
        const killed = line.killAt(moment, () => running.end('SIGKILL'));
        const { id } = await client.prompts.create({ body: { prompt: `${name}\n`, source: 'test' } });
        await client.prompts.launch({ params: { id }, body: { target_device_id: box } });
        await killed;
        const before = starts(name);
        if (isDismissed) await client.prompts.update({ params: { id }, body: { status: 'dismissed' } });
        running = await startOn(line.url);
        if (isDismissed) {
          // A prompt behind it has run: this one would have by then.
          const { id: mark } = await client.prompts.create({ body: { prompt: `mark-${name}\n`, source: 'test' } });
          await client.prompts.launch({ params: { id: mark }, body: { target_device_id: box } });
          await eventually(
            async () => (await client.prompts.get({ params: { id: mark } })).prompt.status === 'answered',
          );
          assert.equal(starts(name), before, `${name}: started after it was dismissed`);
        } else {
          await eventually(async () => (await client.prompts.get({ params: { id } })).prompt.status === 'answered');
          assert.equal(starts(name), 1, name);
        }
        over.set(name, starts(name));
        isKept();
      }
    }
    await running.end();
    await line.close();
    daemon = await startDaemon(1);
    isKept();
    await writeFile(policyPath, JSON.stringify(policy));
  });

  test('svc session lists, shows and follows sessions, and sends a prompt to a device by its name', async () => {
    const own = (at: number) => ({ SVC_API_KEY: key, SVC_BASE_URL: gateways[at]?.url ?? '', HOME: folder.path });
    const sent = await run(['session', 'send', 'new', '--to', 'box', 'Say', 'something'], own(0));
    assert.equal(sent.code, 0, sent.stderr);
    const [, id = ''] = /tail (\S+)/.exec(sent.stdout) ?? [];
    const tail = start(['session', 'tail', id], own(1));
    await tail.printed(/\d+ turn_start user: Say something/);
    await tail.printed(/assistant: Working on it\.\n(.*\n)*.*turn_end \{"ok":true,"exit_code":0\}/);
    await tail.end('SIGINT');
    const shown = await run(['session', 'show', id], own(0));
    assert.equal(shown.stdout, 'user: Say something\n\nassistant: Working on it.\nDone.\n\n');
    const whole = JSON.parse((await run(['session', 'show', id, '--json'], own(0))).stdout);
    assert.equal(whole.events.length, whole.seq);
    assert.match((await run(['session', 'list'], own(1))).stdout, new RegExp(`${id} .*Say something`));
    const wrong = await run(['session', 'show', 'nonsense'], own(0));
    assert.deepEqual([wrong.code, /see svc session list/.test(wrong.stderr)], [1, true]);
    assert.equal((await run(['session', 'send', 'new', 'x'], own(0))).code, 1);
    assert.ok(existsSync(join(project, 'done.txt')));
  });
});
