import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { http, openTest } from '../../testing.ts';
import { testClock } from '../base/clock.ts';

describe('behind a proxy', () => {
  const clock = testClock();
  /** The status of the 101st request with a wrong key, each with the next of these `X-Forwarded-For`. */
  const after100 = async (proxies: string | undefined, said: (i: number) => string): Promise<number> => {
    await using t = await openTest(
      proxies === undefined ? { clock } : { clock, settings: { SVC_TRUSTED_PROXIES: proxies } },
    );
    let status = 0;
    for (let i = 0; i <= 100; i++)
      ({ status } = await http(t.gateway.url, '/v1/devices', {
        key: 'nonsense',
        headers: { 'x-forwarded-for': said(i) },
      }));
    return status;
  };
  const client = (i: number) => `198.51.${i}.1`;

  test('that is trusted, each client has wrong keys of its own', async () => {
    assert.equal(await after100('127.0.0.0/8', client), 401);
  });

  test('a client changes nothing by what it claims before the proxy adds its address', async () => {
    assert.equal(await after100('127.0.0.0/8', (i) => `${client(i)}, 203.0.113.7`), 429);
  });

  test('that is not trusted, what is claimed counts nothing', async () => {
    assert.equal(await after100(undefined, client), 429);
    assert.equal(await after100('192.0.2.1', client), 429);
  });
});
