import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, Readable } from 'node:stream';
import { anything, bytes, events, json, nothing, plain, route, socket } from '@svc/contract';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { loadConfig } from '../config.ts';
import { openKernel } from '../resources.ts';
import { masterKey, type TestDatabase, testDatabase } from '../testing.ts';
import { Answer, type Feature, operation, type RawRoute, type Role } from './feature.ts';
import type { Actor } from './base/actor.ts';
import { ApiError } from './base/errors.ts';
import type { Gate } from './mount/checks.ts';
import { mount } from './mount/mount.ts';
import { createHttp } from './http/server.ts';
import type { Kernel } from './kernel.ts';
import { createLog } from './base/log.ts';

const echoed = z.object({ text: z.string(), calls: z.int() });
const frame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('part'), text: z.string() }),
  z.object({ type: z.literal('end'), calls: z.int() }),
]);

/** One route of each kind that there is; the prefix keeps them apart from those of the product. */
const routes = {
  echo: route({
    method: 'POST',
    path: '/v1/fixture/echo',
    summary: 'Takes JSON, answers JSON with a header',
    auth: 'key',
    idempotent: true,
    takes: json(z.object({ text: z.string().max(10).default('nothing') })),
    answers: json(echoed, 201).or(200, echoed),
  }),
  say: route({
    method: 'POST',
    path: '/v1/fixture/say',
    summary: 'Answers frames when it is asked for them',
    auth: 'key',
    idempotent: true,
    takes: json(z.object({ text: z.string() })),
    answers: json(echoed).orFrames(frame, ({ text, calls }) => [
      ...text.split('').map((letter) => ({ type: 'part' as const, text: letter })),
      { type: 'end' as const, calls },
    ]),
  }),
  store: route({
    method: 'PUT',
    path: '/v1/fixture/files/{path*}',
    summary: 'Takes bytes',
    auth: 'key',
    params: z.object({ path: z.string() }),
    takes: bytes(1_000),
    answers: json(z.object({ path: z.string(), bytes: z.int() })),
  }),
  load: route({
    method: 'GET',
    path: '/v1/fixture/files/{path*}',
    summary: 'Answers bytes',
    auth: 'key',
    params: z.object({ path: z.string() }),
    answers: bytes(),
  }),
  hear: route({
    method: 'GET',
    path: '/fixture/{word}',
    summary: 'Takes anything, answers text, to anyone',
    auth: 'open',
    also: 'POST',
    cors: true,
    takes: anything(5),
    params: z.object({ word: z.string() }),
    answers: plain(z.string()),
  }),
  options: route({
    method: 'OPTIONS',
    path: '/v1/fixture/echo',
    summary: 'Says by headers what it takes',
    auth: 'open',
    answers: nothing,
  }),
  forget: route({
    method: 'DELETE',
    path: '/v1/fixture/echo',
    summary: 'Answers nothing',
    auth: 'key',
    answers: nothing,
  }),
  watch: route({
    method: 'GET',
    path: '/v1/fixture/watch',
    summary: 'Events without end',
    auth: 'key',
    query: z.object({ refuse: z.string().optional() }),
    answers: events({ tick: z.object({ n: z.int() }) }),
  }),
  carry: route({
    method: 'GET',
    path: '/v1/fixture/{name}/carry',
    summary: 'A WebSocket of bytes, at a relay',
    at: 'relay',
    auth: 'key',
    params: z.object({ name: z.string().max(10) }),
    query: z.object({ refuse: z.string().optional(), ping_ms: z.coerce.number().optional() }),
    answers: socket('fixture'),
  }),
};

/** Bytes of a message, and of those that wait, on the fixture's WebSocket. */
export const mostCarried = 64 * 1024;

/** A small feature for tests of the kernel, which knows none of the product's. */
interface Fixture extends AsyncDisposable {
  readonly server: { readonly url: string };
  readonly kernel: Kernel;
  /** How often operations ran. */
  readonly calls: () => number;
  /** Streams of bytes that were handed out and not destroyed or read to their end. */
  readonly openSources: () => number;
  /** From now on new requests are refused. */
  readonly drain: () => void;
  /** Ends the WebSockets of bytes, as a shutdown does. */
  readonly endSockets: () => Promise<void>;
  /** The next stream of a WebSocket, and the name that it was opened with. */
  readonly carried: () => Promise<{ name: string; duplex: Duplex }>;
  /** Turns a switch of the caller's account on or off. */
  readonly turn: (name: string, on: boolean) => void;
}

const actor = (switches: Record<string, boolean>): Actor => ({
  accountId: '00000000-0000-4000-8000-000000000001',
  credentialId: '00000000-0000-4000-8000-000000000002',
  kind: 'key',
  keyId: '00000000-0000-4000-8000-000000000002',
  subscription: 'active',
  suspended: false,
  scopes: ['*'],
  toolLevel: 'l3_sandbox',
  models: undefined,
  spendCapMicroUsd: undefined,
  expiresAt: undefined,
  spent: false,
  features: switches,
});

type Carried = { name: string; duplex: Duplex };

const carry = (count: () => number, opened: (carried: Carried) => void) =>
  operation(routes.carry, async (context, { params, query }) => {
    count();
    if (query.refuse !== undefined) throw new ApiError('not_found', 'no such thing to carry');
    const { ping_ms: pingEveryMs } = query;
    const bounds = { mostBytes: mostCarried, ...(pingEveryMs !== undefined && { pingEveryMs }) };
    const duplex = await context.openBytes(bounds);
    if (duplex) opened({ name: params.name, duplex });
  });

const page = (count: () => number): RawRoute => ({
  prefix: '/fixture-pages/',
  async open({ request, response, rest, address }) {
    count();
    if (rest === 'broken') throw new Error('broken on purpose');
    let bytes = 0;
    for await (const chunk of request) bytes += (chunk as Buffer).length;
    response.writeHead(203, { 'content-type': 'text/html' }).end(`${request.method} ${rest} ${bytes} ${address}`);
  },
});

function feature(count: () => number, sources: Set<Readable>, opened: (carried: Carried) => void): Feature {
  const load = operation(routes.load, (_context, { params }) => {
    count();
    const source = Readable.from([Buffer.from(params.path)]);
    sources.add(source);
    source.once('close', () => sources.delete(source));
    return Promise.resolve(new Answer(source, { headers: { 'content-length': String(params.path.length) } }));
  });
  return {
    name: 'fixture',
    headers: { 'x-fixture': 'yes' },
    raw: [page(count)],
    gate({ features }) {
      if (features['fixture'] === false) throw new ApiError('forbidden', 'the fixture is off for this account');
    },
    operations: {
      echo: operation(routes.echo, (_, { body }) => {
        const calls = count();
        return Promise.resolve(new Answer({ text: body.text, calls }, { headers: { 'x-echo': body.text } }));
      }),
      say: operation(routes.say, async ({ frames }, { body }) => {
        const calls = count();
        for (const letter of body.text) await frames?.send({ type: 'part', text: letter });
        if (body.text.endsWith('!')) throw new ApiError('unavailable', 'out of breath');
        return { text: body.text, calls };
      }),
      store: operation(routes.store, async ({ upload }, { params }) => {
        let length = 0;
        for await (const chunk of upload) length += (chunk as Buffer).length;
        return { path: params.path, bytes: length };
      }),
      load,
      hear: operation(routes.hear, (context, { params }) => {
        count();
        return Promise.resolve(`${params.word} ${context.anything.toString()}`);
      }),
      options: operation(routes.options, () =>
        Promise.resolve(new Answer(undefined, { headers: { 'x-takes': 'text' } })),
      ),
      forget: operation(routes.forget, () => Promise.resolve(undefined)),
      watch: operation(routes.watch, (context, { query }) => {
        count();
        if (query.refuse !== undefined) throw new ApiError('not_found', 'no such thing to watch');
        context.openEvents().send('tick', { n: 1 });
        return Promise.resolve();
      }),
      carry: carry(count, opened),
    },
  };
}

/** Serves the fixture, and nothing of the product, on a port of its own. Any bearer key is taken. */
export async function openFixture(role?: Role, settings: Record<string, string> = {}): Promise<Fixture> {
  await using opening = new AsyncDisposableStack();
  const database: TestDatabase = opening.use(await testDatabase());
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-fixture-'));
  opening.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const config = loadConfig(
    {},
    { SVC_MASTER_KEY: masterKey, SVC_LOG_LEVEL: 'silent', SVC_DATA_DIR: dataDir, ...settings },
  );
  const opened = await openKernel(config, createLog('silent'), { database: database.target });
  opening.defer(() => opened.close());
  const kernel = opened.value;
  let calls = 0;
  const sources = new Set<Readable>();
  const openings = new EventEmitter();
  const switches: Record<string, boolean> = {};
  const http = createHttp(kernel);
  let isDraining = false;
  const gate: Gate = {
    authenticate: () => actor(switches),
    authenticateLogin: () => undefined,
    touchDevice: () => {},
    isDraining: () => isDraining,
  };
  const tell = (carried: Carried): void => void openings.emit('carried', carried);
  mount(http, kernel, gate, [feature(() => ++calls, sources, tell)], role);
  await http.listen({ port: 0, host: '127.0.0.1' });
  opening.defer(async () => {
    kernel.streams.endAll();
    await http.sockets.drain();
    http.server.closeAllConnections();
    await http.close();
  });
  const { port } = http.server.address() as AddressInfo;
  const stack = opening.move();
  return {
    server: { url: `http://127.0.0.1:${port}` },
    kernel,
    turn(name, on) {
      switches[name] = on;
    },
    drain() {
      isDraining = true;
    },
    endSockets: () => http.sockets.drain(),
    carried: async () => ((await once(openings, 'carried')) as [Carried])[0],
    calls: () => calls,
    openSources: () => sources.size,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
