import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../apps/server/src/testing.ts';
import { killAll, run, start, temporaryFolder } from '../platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from '../sandboxes.ts';
import { StrictClient } from './strict.ts';

describe('a strict client through the story of the README', { skip: withoutSandboxes }, () => {
  let p: SandboxPlatform;
  let client: StrictClient;
  const folder = temporaryFolder();
  before(async () => {
    p = await startSandboxPlatform(0);
    client = await StrictClient.of(p.url, p.key);
  });
  after(async () => {
    await p?.close();
    killAll();
    await folder.remove();
  });

  test('a sandbox runs commands and cells, hands out a figure, pauses, resumes and forks', async () => {
    const { id } = await client.call('sandboxes.create', { body: {} });
    const at = { id };
    const ran = await client.call('sandboxes.exec', { params: at, body: { shell: 'echo hello; python3 --version' } });
    assert.match(ran.stdout, /^hello\nPython 3/);
    const code = 'import matplotlib.pyplot as plt\nplt.plot([1, 4, 9]); x = 42';
    const cell = await client.call('sandboxes.runCode', { params: at, body: { code } });
    assert.deepEqual([cell.error, cell.images.length], [null, 1]);
    const { data } = await client.call('sandboxes.artifacts', { params: at });
    assert.deepEqual([data[0].mime, data[0].scan, (await fetch(data[0].url)).status], ['image/png', 'clean', 200]);
    assert.equal((await client.call('sandboxes.pause', { params: at, body: {} })).status, 'paused');
    assert.equal((await client.call('sandboxes.resume', { params: at, body: {} })).restored, true);
    const forked = await client.call('sandboxes.fork', { params: at, body: { count: 2 } });
    for (const copy of forked.data) {
      const { result } = await client.call('sandboxes.runCode', { params: { id: copy.id }, body: { code: 'x' } });
      assert.equal(result, '42');
      await client.call('sandboxes.remove', { params: { id: copy.id } });
    }
    const preview = await client.call('sandboxes.preview', { params: at, body: { port: 3000 } });
    assert.match(preview.url, /^http:/);
    await client.call('sandboxes.remove', { params: at });
    const once = await client.call('sandboxes.run', { body: { language: 'python', code: 'print(6 * 7)' } });
    assert.equal(once.stdout, '42\n');
  });

  test('a host serves it, and runs a schedule that was approved there', async () => {
    const stateDir = join(folder.path, 'host');
    mkdirSync(stateDir, { mode: 0o700 });
    writeFileSync(join(stateDir, 'host.json'), JSON.stringify({ ops: { shell: 'allow' } }), { mode: 0o600 });
    const common = ['--url', p.url, '--state-dir', stateDir];
    const keyFile = join(folder.path, 'box.key');
    const enrolled = await run(['host', 'enroll', '--name', 'box', '--out', keyFile, ...common], {
      SVC_API_KEY: p.key,
    });
    assert.equal(enrolled.code, 0, enrolled.stderr);
    const daemon = start(
      ['host', 'run', '--name', 'box', '--key-file', keyFile, '--roots', folder.path, ...common],
      {},
    );
    let box: { device_id: string } | undefined;
    await until(async () => {
      [box] = (await client.call('hosts.list')).hosts;
      return box !== undefined;
    });
    const device = (box as { device_id: string }).device_id;
    const params = { device_id: device };
    const answer = await client.call('hosts.exec', { params, body: { op: 'shell', args: { command: 'echo hello' } } });
    assert.deepEqual([answer.ok, answer.result.stdout], [true, 'hello\n']);
    const schedule = await client.call('schedules.create', {
      body: { name: 'disk', kind: 'shell', spec: { command: 'echo disk' }, trigger: { type: 'interval', every_s: 60 } },
    });
    await client.call('schedules.approveCommand', {
      params: { id: schedule.id },
      body: { command_hash: schedule.command_hash },
      device,
    });
    // Approval over the API is not the machine's own word: a host that was not asked itself keeps the run waiting.
    await client.call('schedules.run', { params: { id: schedule.id } });
    const { runs } = await client.call('schedules.runs', { params: { id: schedule.id } });
    assert.equal(runs.length, 1);
    const changed = await client.call('schedules.update', { params: { id: schedule.id }, body: { enabled: false } });
    assert.deepEqual([changed.enabled, changed.name], [false, 'disk']);
    await client.call('schedules.remove', { params: { id: schedule.id } });
    assert.equal(await daemon.end(), 0);
  });

  test('timetables, monitors and notifications take what it sends', async () => {
    const said = await client.call('schedules.preview', { body: { text: 'în fiecare vineri la 17:30' } });
    assert.deepEqual(said.trigger, { type: 'cron', expr: '30 17 * * 5', tz: 'Europe/Bucharest' });
    const monitor = await client.call('heartbeats.create', { body: { name: 'nightly backup', period_s: 86_400 } });
    assert.equal(await (await fetch(`${monitor.ping_url}/3`)).text(), 'OK');
    let told: { type: string; title: string; id: string }[] = [];
    await until(async () => {
      told = (await client.call('notifications.list')).notifications;
      return told.length > 0;
    });
    const alert = told.find(({ type }) => type === 'heartbeat.down');
    assert.equal(alert?.title, 'nightly backup is down');
    await client.call('notifications.update', { params: { id: alert.id }, body: { read: true } });
    await client.call('notifications.createWebhook', {
      body: { name: 'phone', url: 'https://1.1.1.1/my-topic', format: 'ntfy' },
    });
    await client.call('heartbeats.update', { params: { id: monitor.id }, body: { paused: true } });
    const key = await client.call('keys.create', { body: { name: 'phone' } });
    await client.call('keys.update', { params: { id: key.id }, body: { name: 'watch' } });
    await client.call('keys.revoke', { params: { id: key.id } });
    await client.call('devices.list');
    await client.call('audit.list');
  });
});
