import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { createReporter } from './report.ts';

/** A gateway that takes results; `joint` answers the joined ones. */
async function gatewayOf(joint: (ids: string[]) => { status: number; body: unknown }) {
  const asked: string[] = [];
  const answer = (sent: string): { status: number; body: unknown } => {
    const ids = (JSON.parse(sent) as { results?: { req_id: string }[] }).results?.map(({ req_id }) => req_id);
    asked.push(ids ? `joined ${ids.length}` : 'single');
    return ids ? joint(ids) : { status: 200, body: { ok: true } };
  };
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const { status, body } = answer(sent);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: `svc_${'a'.repeat(38)}`, retries: 0 });
  const logs: string[] = [];
  const reporter = createReporter({
    client,
    log: (line) => logs.push(line),
    retryMs: [1, 10],
    signal: new AbortController().signal,
  });
  const report = (count: number, result: unknown = null) => {
    const until = performance.now() + 10_000;
    const ids = Array.from({ length: count }, () => crypto.randomUUID());
    return Promise.all(ids.map((id) => reporter.report(id, { ok: true, result }, until)));
  };
  return { asked, logs, report };
}

const all = (ids: readonly string[]) => ({ status: 200, body: { taken: ids.map(() => true) } });

describe('reports of results', () => {
  test('that end in one turn go in one request, 64 at most; one alone, and large ones, go by themselves', async () => {
    const { asked, report } = await gatewayOf(all);
    await report(1);
    await report(100);
    await report(2, 'x'.repeat(20_000));
    assert.deepEqual(asked, ['single', 'joined 64', 'joined 36', 'single', 'single']);
  });

  test('of which some were not taken are made again by themselves, which says why', async () => {
    const { asked, report } = await gatewayOf((ids) => ({
      status: 200,
      body: { taken: ids.map((_, at) => at !== 1) },
    }));
    await report(3);
    assert.deepEqual(asked, ['joined 3', 'single']);
  });

  test('go by themselves to a gateway that does not know the route, and from then on', async () => {
    const error = { error: { message: 'no such route', type: 'invalid_request_error', code: 'not_found' } };
    const { asked, report } = await gatewayOf(() => ({ status: 404, body: error }));
    await report(2);
    await report(2);
    assert.deepEqual(asked, ['joined 2', 'single', 'single', 'single', 'single']);
  });
});
