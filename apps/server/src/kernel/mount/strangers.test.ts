import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { http, openTest } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { invalidApiKey } from './access.ts';
import { Strangers } from './strangers.ts';

describe('wrong API keys', () => {
  test('over 100 a minute from one address are a 429 until the minute ends; a valid key never waits', async () => {
    const clock = testClock();
    await using t = await openTest({ clock });
    const { gateway, account } = t;
    const ask = async (key: string | undefined) =>
      (await http(gateway.url, '/v1/devices', key === undefined ? {} : { key })).status;
    const wrong = [`svc_${'0'.repeat(38)}`, 'nonsense'];
    for (let i = 0; i < 100; i++) assert.equal(await ask(wrong[i % 2]), 401);
    const refused = await http(gateway.url, '/v1/devices', { key: 'nonsense' });
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limit_exceeded']);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(await ask(undefined), 401, 'who shows no key guesses none');
    for (let i = 0; i < 20; i++) assert.equal(await ask(account.key), 200);
    clock.advance(60_000);
    assert.equal(await ask('nonsense'), 401);
  });

  test('are told in one line a minute for each address, and an IPv6 household is one address', () => {
    const clock = testClock();
    const out = new PassThrough({ encoding: 'utf8' });
    const strangers = new Strangers({ clock, log: createLog('info', out) });
    const refuse = (address: string) => strangers.refuse(address, invalidApiKey()).code;
    for (let i = 0; i < 250; i++) refuse(`2001:db8:1:2::${i.toString(16)}`);
    assert.equal(refuse('2001:db8:1:2:aaaa:bbbb:cccc:dddd'), 'rate_limit_exceeded');
    assert.equal(refuse('2001:db8:1:3::1'), 'invalid_api_key');
    for (let i = 0; i < 101; i++) refuse('::ffff:192.0.2.1');
    assert.equal(refuse('192.0.2.1'), 'rate_limit_exceeded');
    assert.equal(refuse('::1'), 'invalid_api_key');
    clock.advance(60_000);
    const lines = String(out.read())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ address, failures }) => [address, failures]),
      [
        ['2001:db8:1:2::/64', 251],
        ['192.0.2.1', 102],
      ],
    );
  });
});
