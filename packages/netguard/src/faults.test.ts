import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { faultText, OutboundError } from './faults.ts';

const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => assert.fail('it went well'),
    (error: unknown) => error,
  );

test('an error of the runtime is told without its own words: no address, no query, no path', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const refused = await thrown(fetch(`http://127.0.0.1:${port}/path?token=secret`));
  assert.equal(faultText(refused), 'the server took no connection');
  assert.equal(faultText(await thrown(once(connect(port, '127.0.0.1'), 'data'))), 'the server took no connection');
  assert.equal(faultText(await thrown(readFile(new URL('absent', import.meta.url)))), 'a file is not there');
  for (const error of [
    new TypeError('Failed to parse URL from https://user:pass@example.com/?q=secret'),
    new Error("Cannot find module '/srv/app/x.ts'"),
    Object.assign(new Error('open /srv/app/x'), { code: 'EOTHER' }),
    'https://user:pass@example.com/',
    undefined,
  ]) {
    assert.doesNotMatch(faultText(error), /user|secret|srv|app\/|example/);
  }
});

test('words of ours are told as they are, also as a cause', () => {
  const ours = new OutboundError('timeout', undefined, 'tls');
  assert.equal(faultText(new TypeError('fetch failed', { cause: ours })), ours.message);
});
