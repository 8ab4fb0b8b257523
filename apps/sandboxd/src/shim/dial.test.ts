import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type Dialed, dial } from './dial.ts';
import type { EgressRules } from './spec.ts';

/** A server of this machine that the operator lets through by name. */
async function front(t: TestContext): Promise<{ port: number; rules: EgressRules }> {
  const server = createServer((_, response) => response.end());
  server.listen(0);
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { port, rules: { allowHosts: ['localhost'], ports: [80, port], presets: { pypi: [], npm: [] } } };
}

const allowlist = (...domains: string[]) => ({ mode: 'allowlist' as const, domains });

function isRefused(dialed: Dialed): boolean {
  if ('socket' in dialed) dialed.socket.destroy();
  return 'reason' in dialed && !dialed.failed;
}

test('an allowed host is dialled by its name', async (t) => {
  const { port, rules } = await front(t);
  assert.equal(isRefused(await dial('localhost', port, allowlist('localhost'), rules)), false);
});

test("a wildcard's end behind another host leads nowhere", async (t) => {
  const { port, rules } = await front(t);
  const egress = allowlist('*.example.com');
  for (const between of ['/', '\\', '?', '#', ':1/', '@', '\t', '\n', '%2f', '%', '\0', ' ']) {
    for (const host of [`localhost${between}.example.com`, `localhost${between}x.example.com`]) {
      assert.ok(isRefused(await dial(host, port, egress, rules)), JSON.stringify(host));
    }
  }
  assert.ok(isRefused(await dial('x@localhost/.example.com', port, egress, rules)));
});

test('a host that stands for another one in a URL is refused', async (t) => {
  const { port, rules } = await front(t);
  const open = { ...rules, allowHosts: ['127.0.0.1'] };
  for (const host of ['127.1', '0x7f000001', '2130706433', 'localhost:1', '[127.0.0.1]', '']) {
    assert.ok(isRefused(await dial(host, port, allowlist(host), open)), host);
  }
});

test('no port is dialled but the one that was judged', async (t) => {
  const { port, rules } = await front(t);
  const closed = { ...rules, ports: [80] };
  for (const asked of [port, Number.NaN, port + 0.5, -port, 0, port + 65_536]) {
    assert.ok(isRefused(await dial('localhost', asked, allowlist('localhost'), closed)), String(asked));
  }
});
