import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { resolvePublicAt } from '@svc/netguard';
import { systemClock } from '../base/clock.ts';
import { type TestDns, testDns } from './outbound.dns.testing.ts';
import { createOutbound, type Outbound, OutboundError } from './outbound.ts';

describe('outbound: a judge of the caller’s own', () => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const wanted = decodeURIComponent((request.url ?? '').slice(2));
    if (wanted === '') response.end('there');
    else response.writeHead(302, { location: wanted }).end();
  });
  let dns: TestDns;
  let outbound: Outbound;
  let at: (host: string, next?: string) => string;

  before(async () => {
    dns = await testDns({ 'first.test': ['127.0.0.1'], 'second.test': ['127.0.0.1'], 'third.test': ['127.0.0.1'] });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const resolve = resolvePublicAt([dns.address]);
    const rules = { fetchAllowHosts: ['first.test', 'second.test', 'third.test'], fetchPorts: [port] };
    outbound = createOutbound(rules, systemClock, { public: resolve, here: resolve });
    at = (host, next = '') => `http://${host}:${port}/?${encodeURIComponent(next)}`;
  });
  beforeEach(() => {
    requests.length = 0;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await dns[Symbol.asyncDispose]();
  });

  test('it is asked for the address and for that of each redirect, in order', async () => {
    const asked: string[] = [];
    const url = at('first.test', at('second.test', at('third.test')));
    const answer = await outbound.request(url, { judge: ({ hostname }) => void asked.push(hostname) });
    assert.equal(String(answer.body), 'there');
    assert.deepEqual(asked, ['first.test', 'second.test', 'third.test']);
  });

  test('what it throws reaches the caller as it is, and no later name is looked up or connected to', async () => {
    const [second, third] = [dns.asked('second.test'), dns.asked('third.test')];
    for (const thrown of [new RangeError('not here'), new OutboundError('timeout'), 'a text', undefined]) {
      requests.length = 0;
      const judge = ({ hostname }: URL): void => {
        if (hostname === 'second.test') throw thrown;
      };
      const url = at('first.test', at('second.test', at('third.test')));
      const fault: unknown = await outbound.request(url, { judge }).then(
        () => 'it was answered',
        (error: unknown) => error,
      );
      assert.equal(fault, thrown);
      assert.equal(requests.length, 1);
    }
    assert.deepEqual([dns.asked('second.test'), dns.asked('third.test')], [second, third]);
  });

  test('a refusal of the first address asks and connects nowhere', async () => {
    const first = dns.asked('first.test');
    const judge = (): never => {
      throw new RangeError('not here');
    };
    await assert.rejects(outbound.request(at('first.test'), { judge }), RangeError);
    assert.deepEqual([dns.asked('first.test'), requests], [first, []]);
  });

  test('addresses that no caller may ask are refused before it is asked', async () => {
    const asked: string[] = [];
    const judge = ({ href }: URL): void => void asked.push(href);
    for (const url of ['http://127.0.0.1/', 'file:///etc/passwd', at('first.test', 'http://localhost/')]) {
      await assert.rejects(
        outbound.request(url, { judge }),
        (error) => error instanceof OutboundError && error.kind === 'refused',
      );
    }
    assert.deepEqual(asked, [at('first.test', 'http://localhost/')]);
  });
});
