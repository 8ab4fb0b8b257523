import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testClock, type TestClock } from '../../apps/server/src/kernel/base/clock.ts';
import type { DatabaseTarget } from '../../apps/server/src/kernel/db/db.ts';
import { replies, TestProvider } from '../../apps/server/src/features/inference/inference.testing.ts';
import { TestPushService } from '../../apps/server/src/features/notifications/notifications.testing.ts';
import { article, openWeb } from '../../apps/server/src/features/tools/tools.testing.ts';
import { trustCertificate } from '../../apps/server/src/testing.tls.ts';
import {
  createAccount,
  http,
  type HttpAnswer,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../../apps/server/src/testing.ts';
import type { Wire } from './wire.ts';

/** A gateway that is counted, with what its units need around it. */
export interface Stage extends AsyncDisposable {
  gateway: TestGateway;
  account: TestAccount;
  clock: TestClock;
  wire: Wire;
  /** An address of a page that was not fetched yet. */
  page(): string;
  hook: string;
  /** Ends something once the unit was counted. */
  later(end: () => unknown): void;
  /** Ends what was left for later. */
  end(): Promise<void>;
  /** What the receiver of notifications got so far. */
  received(): number;
  call(method: string, path: string, body?: unknown, device?: string): Promise<HttpAnswer['body']>;
}

const body = { choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }] };
const answer = { id: 'c', object: 'chat.completion', created: 1, model: 'small-1', ...body };
const usage = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };

/** A start takes less; one that takes longer has its clock turned. */
const lateMs = 3_000;
const turnMs = 1_000;

/** Opens a gateway on the database behind the wire, at an instant that stands still until a unit turns it. */
export async function openStage(wire: Wire, target: DatabaseTarget): Promise<Stage> {
  await using opening = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'svc-costs-'));
  opening.defer(() => rmSync(folder, { recursive: true, force: true }));
  const provider = await opening.use(new TestProvider()).listen();
  provider.script = replies({ ...answer, usage });
  const providers = join(folder, 'providers.json');
  const prices = { 'small-1': { input: 1, output: 2 } };
  const lane = { id: 'main', kind: 'openai', base_url: `${provider.url}/v1`, models: ['small-1'], prices };
  writeFileSync(providers, JSON.stringify({ lanes: [lane], aliases: { svc: ['main'] }, search: [] }));
  const web = opening.use(await openWeb());
  const receiver = opening.use(new TestPushService());
  await receiver.listen(opening.use(trustCertificate()));
  const socket = join(folder, 'node.sock');
  await nodeAt(socket, opening);
  const clock = testClock(Date.parse('2026-11-02T09:00:10Z'));
  const settings = {
    SVC_PROVIDERS: providers,
    SVC_SANDBOXD_SOCKET: socket,
    SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
    SVC_FETCH_PORTS: `443,${receiver.port},${web.port}`,
  };
  // At an instant that stands still, a start that waits by the clock for an answer that is late waits for ever. Whole
  // seconds keep the loops of whole seconds where units expect them.
  const turning = setInterval(() => clock.advance(turnMs), lateMs);
  const starting = startGateway({ target }, { clock, settings }).finally(() => clearInterval(turning));
  const gateway = opening.use(await starting);
  const account = await createAccount(gateway);
  let pages = 0;
  const ends: (() => unknown)[] = [];
  const call: Stage['call'] = async (method, path, sent, device) => {
    const headers = device === undefined ? {} : { 'x-svc-device': device };
    const { status, body: got } = await http(gateway.url, path, { method, key: account.key, headers, body: sent });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(got).slice(0, 300)}`);
    return got;
  };
  const stack = opening.move();
  return {
    gateway,
    account,
    clock,
    wire,
    call,
    hook: `https://127.0.0.1:${receiver.port}/hook`,
    later: (end) => void ends.push(end),
    async end() {
      for (const end of ends.splice(0)) await end();
    },
    received: () => receiver.pushed.length,
    page() {
      pages += 1;
      const paragraph =
        `On page ${pages} stands a paragraph that is long enough to be the content of an article. `.repeat(5);
      web.on(`/page-${pages}`, article(`Page ${pages}`, [paragraph]));
      return web.url(`/page-${pages}`);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A node of sandboxes that makes rows' sandboxes and nothing else. */
async function nodeAt(socket: string, opening: AsyncDisposableStack): Promise<void> {
  const status = {
    id: randomUUID(),
    backends: { v1: { available: true }, v2: { available: true } },
    images: [{ template: 'svc-base', digest: `sha256:${'0'.repeat(64)}`, state: 'ready' }],
    slots: { total: 400, used: 0 },
    sandboxes: [],
  };
  const node = createServer((request, response) => {
    const id = /\/v1\/sandboxes\/([^/]+)$/.exec(request.url ?? '')?.[1];
    const made = { id, owner: '', backend: 'v2', template: 'svc-base', status: 'running', restored: false };
    const state = { ...made, image_digest: `sha256:${'0'.repeat(64)}`, expires_at: Date.now() + 3_600_000 };
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(id ? state : status));
    });
  });
  await once(node.listen(socket), 'listening');
  opening.defer(() => {
    node.closeAllConnections();
    node.close();
  });
}
