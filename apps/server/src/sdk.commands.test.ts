import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { openProxy } from './kernel/testing.ts';
import { shared } from './testing.shared.ts';
import { clientOf, openTest } from './testing.ts';

const programs = resolve(import.meta.dirname, '../../host/src');

describe('svc session send and svc prompt add', () => {
  const { gateway, account } = shared(() => openTest());
  const home = mkdtempSync(join(tmpdir(), 'svc-commands-'));
  after(() => rmSync(home, { recursive: true, force: true }));

  const start = (url: string, [program = '', ...words]: string[], key = account.key) => {
    const child = spawn(process.execPath, [join(programs, `${program}.ts`), ...words], {
      env: { PATH: process.env['PATH'], HOME: home, SVC_BASE_URL: url, SVC_API_KEY: key },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { child, ended: endOf(child) };
  };
  const endOf = async (child: ReturnType<typeof spawn>) => {
    const said = Promise.all([child.stdout, child.stderr].map((stream) => text(stream as NodeJS.ReadableStream)));
    const [code] = (await once(child, 'close')) as [number | null];
    const [out = '', err = ''] = await said;
    return { code, out, err };
  };
  const run = (url: string, ...words: string[]) => start(url, words).ended;
  const keptPrompts = async () =>
    (await clientOf(gateway, account.key).prompts.list()).prompts.map(({ prompt }) => prompt).toReversed();
  /** The texts that are on the disk. */
  const stored = (): string[] => {
    const folder = join(home, '.config/svc/outbox');
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .filter((text) => /"(?:text|prompt)"/.test(text));
  };

  test('offline they say stored; the next one sends what waits, first and once', async () => {
    await using proxy = await openProxy({ host: '127.0.0.1', port: Number(new URL(gateway.url).port) });
    const url = `http://127.0.0.1:${proxy.port}`;
    const device = randomUUID();
    await clientOf(gateway, account.key, device).devices.list();
    const { id } = await clientOf(gateway, account.key).sessions.create({ body: { title: 'From a train' } });
    await proxy.cut();
    const first = await run(url, 'prompt', 'add', 'Water', 'the plants');
    assert.deepEqual([first.code, first.out.startsWith('stored;')], [0, true], first.err);
    assert.match(first.err, /stored, not sent: cannot reach/);
    const second = await run(url, 'session', 'send', id, '--to', device, '--json', 'Feed the cat');
    assert.deepEqual([second.code, JSON.parse(second.out)], [0, { stored: true }], second.err);
    assert.equal(stored().length, 2);
    await proxy.restore();
    const third = await run(url, 'prompt', 'add', 'Close the door');
    assert.deepEqual([third.code, third.out.startsWith('kept: ')], [0, true], third.err);
    assert.equal(third.err.match(/sent what was stored at/g)?.length, 2);
    assert.deepEqual(await keptPrompts(), ['Water the plants', 'Close the door']);
    assert.deepEqual(stored(), []);
  });

  test('with --wait one waits until it is sent', async () => {
    await using proxy = await openProxy({ host: '127.0.0.1', port: Number(new URL(gateway.url).port) });
    await proxy.cut();
    const { child, ended } = start(`http://127.0.0.1:${proxy.port}`, ['prompt', 'add', '--wait', 'Be patient']);
    await once(child.stderr, 'data');
    await proxy.restore();
    const { code, out, err } = await ended;
    assert.deepEqual([code, out.startsWith('kept: ')], [0, true], err);
    assert.ok((await keptPrompts()).includes('Be patient'));
  });

  test('what is refused is an error, and is not stored', async () => {
    const refused = await run(gateway.url, 'prompt', 'add', '--at', 'tomorrow', 'Too vague');
    assert.deepEqual([refused.code, refused.out], [1, ''], refused.err);
    const wrongKey = await start(gateway.url, ['prompt', 'add', 'With a wrong key'], `svc_${'A'.repeat(38)}`).ended;
    assert.deepEqual([wrongKey.code, wrongKey.out], [1, ''], wrongKey.err);
    assert.deepEqual(stored(), []);
  });
});
