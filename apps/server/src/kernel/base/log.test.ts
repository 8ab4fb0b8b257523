import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { generateKey } from '../../features/keys/keys.rules.ts';
import { testClock } from './clock.ts';
import { createLog } from './log.ts';
import { redact } from './redact.ts';

/** A log and the lines it wrote. */
function capture(level = 'trace') {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
  return { log: createLog(level, destination), lines };
}

describe('log', () => {
  test('no API key gets out, whatever field, depth, message or error it is in', () => {
    const key = generateKey();
    const { log, lines } = capture();
    log.info(`key ${key}.`);
    log.info({ a: { b: [key, `x-${key}-y`, `"${key}"`] } }, 'nested');
    log.error({ err: new Error(`failed for ${key}`, { cause: new Error(key) }) }, 'error');
    log.warn({ [key]: 1, url: `/v1/keys?k=${key}&x=1`, header: `Bearer ${key}` });
    log.info({ text: JSON.stringify({ key }) });
    assert.equal(lines.length, 5);
    for (const line of lines) {
      assert.ok(!line.includes(key) && !line.includes(key.slice(4, 36)), line);
      JSON.parse(line);
    }
  });

  test('no bearer token gets out, whatever its kind and however the scheme is written', () => {
    const { log, lines } = capture();
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      log.info(
        { headers: { authorization: `${scheme} eyJhbGciOi.J9.token-of-${scheme}` } },
        `${scheme} opaque+/=${scheme}`,
      );
    }
    for (const line of lines) assert.doesNotMatch(line, /token-of|opaque|eyJ/);
  });

  test('no password of a URL gets out', () => {
    const urls = [
      'postgres://svc:hunter2@db.example:5432/svc',
      'nats://:hunter2@127.0.0.1:4222',
      'https://user:hunter2%40@host/path?x=1',
      'postgres://svc:hunter2:more@db/svc',
    ];
    const { log, lines } = capture();
    for (const url of urls) log.error({ url, err: new Error(`cannot reach ${url}`) }, url);
    for (const line of lines) assert.doesNotMatch(line, /hunter2/);
    assert.ok(lines[0]?.includes('postgres://svc:[redacted]@db.example'));
  });

  test('on a terminal lines are text for people, with no secret and nothing that moves the cursor', async () => {
    let text = '';
    const terminal = new PassThrough().setEncoding('utf8');
    terminal.on('data', (chunk: string) => (text += chunk));
    const log = createLog('info', Object.assign(terminal, { isTTY: true }));
    const key = generateKey();
    log.info({ port: 8787 }, `listening for ${key}`);
    log.warn({ more: '\u009b2J' }, 'name \u001b[2J of others');
    await new Promise(setImmediate);
    // oxlint-disable-next-line no-control-regex
    const plain = text.replace(/\u001b\[\d+m/g, '');
    assert.match(plain, /^\[\d\d:\d\d:\d\d\] INFO: listening for \[redacted\]\n {4}port: 8787\n/);
    assert.ok(!text.includes('\u001b[2J') && /name .*2J of others/.test(plain), plain);
    assert.ok(!text.includes('\u009b'));
  });

  test('on a terminal a failure below ERROR is its message, without a stack', async () => {
    let text = '';
    const terminal = new PassThrough().setEncoding('utf8');
    terminal.on('data', (chunk: string) => (text += chunk));
    const log = createLog('info', Object.assign(terminal, { isTTY: true }));
    for (const level of ['info', 'warn'] as const)
      log[level]({ err: new Error('no route to it'), again_ms: 500 }, 'later');
    log.warn(new Error('alone'));
    await new Promise(setImmediate);
    assert.ok(text.includes('no route to it') && text.includes('again_ms') && text.includes('alone'), text);
    assert.doesNotMatch(text, /\bat .*log\.test|"stack"|"type"/);
    log.error({ err: new Error('ours') }, 'failed');
    await new Promise(setImmediate);
    assert.match(text, /ours[^]*\bat .*log\.test/);
  });

  test('a failure that repeats is one line a minute, with how often; without a stack when a connection broke', () => {
    const lines: string[] = [];
    const clock = testClock();
    const log = createLog('info', { write: (line: string) => lines.push(line) } as never, clock);
    const broken = () => Object.assign(new Error('connect ECONNREFUSED /run/db'), { code: 'ECONNREFUSED' });
    for (let second = 0; second < 59; second += 1) {
      for (let time = 0; time < 8; time += 1) log.warn({ err: broken(), loop: 'a' }, 'a loop failed');
      clock.advance(1_000);
    }
    assert.equal(lines.length, 1);
    log.warn({ err: broken(), loop: 'b' }, 'a loop failed');
    log.warn({ err: new Error('another'), loop: 'a' }, 'a loop failed');
    for (const trace of ['1', '2']) log.error({ err: broken(), trace }, 'request failed');
    assert.equal(lines.length, 5, 'other failures, and those of requests, are written');
    clock.advance(1_000);
    log.warn({ err: broken(), loop: 'a' }, 'a loop failed');
    const parsed = lines.map((line) => JSON.parse(line));
    assert.equal(parsed[5].repeats, 59 * 8 - 1);
    assert.deepEqual([parsed[0].err.stack, typeof parsed[2].err.stack], [undefined, 'string']);
  });

  test('what is no secret stays as it is', () => {
    for (const text of ['svc_short', 'svc_relation', 'http://a:80/b@c', 'user@example.test', 'the bearer', 'a://b/c']) {
      assert.equal(redact(text), text);
    }
  });

  test('lines are JSON with level and ISO time; below the level nothing is written', () => {
    const { log, lines } = capture('warn');
    log.info('not this');
    log.warn({ n: 1 }, 'this');
    assert.equal(lines.length, 1);
    const line = JSON.parse(lines[0] ?? '');
    assert.deepEqual([line.level, line.msg, line.n], [40, 'this', 1]);
    assert.match(line.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });
});
