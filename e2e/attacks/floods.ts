import { randomBytes, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { World } from './world.ts';

/** What a flood attacks: the platform, by a person who has a key. */
type Target = Pick<World, 'url' | 'keys' | 'slow'>;
type FloodWork = (target: Target, stop: AbortSignal) => Promise<void>;

const mib = 1024 * 1024;

/** Sends one request and reads its answer, whatever it is; a connection that breaks is no fault of the flood. */
async function ask(
  target: Target,
  path: string,
  init: { key?: string; body?: string; headers?: Record<string, string>; method?: string },
  stop: AbortSignal,
): Promise<number> {
  const { key = target.keys.thief, body, headers, method = body === undefined ? 'GET' : 'POST' } = init;
  try {
    const answer = await fetch(target.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body }),
      signal: stop,
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** Repeats `work` on so many connections until the flood is over. */
async function repeat(connections: number, stop: AbortSignal, work: (n: number) => Promise<unknown>): Promise<void> {
  await Promise.all(
    Array.from({ length: connections }, async (_, n) => {
      while (!stop.aborted) {
        await work(n);
        // Refusals come at once; the flood is to be a client, not a loop.
        await delay(1);
      }
    }),
  );
}

/** Connections that a flood holds open until it is over. */
async function holding(
  stop: AbortSignal,
  work: (open: (text: string) => Socket) => Promise<void>,
  target: Target,
): Promise<void> {
  const sockets: Socket[] = [];
  const { port, hostname } = new URL(target.url);
  try {
    await work((text) => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.pause().write(text);
      sockets.push(socket);
      return socket;
    });
    if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

const head = (method: string, path: string, key: string, more: string[] = []): string =>
  [`${method} ${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${key}`, ...more, '', ''].join('\r\n');

const schedule = (fields: object): string =>
  JSON.stringify({
    name: 'flood',
    kind: 'http',
    spec: { method: 'POST', url: 'https://example.com', body: 'x'.repeat(900_000) },
    trigger: { type: 'event', trigger_id: 'never' },
    ...fields,
  });

/** Attacks that go on until they are told to stop; the name begins with the row of hardening's section A. */
export const floods = {
  'A2 nested bodies': async (target, stop) => {
    const body = '['.repeat(1.9 * mib);
    await repeat(4, stop, () => ask(target, '/v1/keys', { body }, stop));
  },
  'A2 nested bodies with an Idempotency-Key': async (target, stop) => {
    const body = `{"name":${'['.repeat(3.8 * mib)}`;
    const headers = { 'idempotency-key': 'same' };
    await repeat(4, stop, () => ask(target, '/v1/keys', { body, headers }, stop));
  },
  'A2 wide bodies': async (target, stop) => {
    const body = JSON.stringify({ name: 'x', pad: Array.from({ length: 240_000 }, (_, n) => ({ n })) }).slice(
      0,
      11 * mib,
    );
    await repeat(4, stop, () => ask(target, '/v1/keys', { body }, stop));
  },
  'A3 commands to a host that reads nothing': (target, stop) =>
    holding(
      stop,
      async (open) => {
        const device = randomUUID();
        const { thief } = target.keys;
        open(head('GET', '/v1/hosts/stream?os=linux&hostname=deaf', thief, [`x-svc-device: ${device}`]));
        const body = JSON.stringify({ op: 'shell', args: { command: 'x'.repeat(8 * mib) }, timeout_ms: 1_000 });
        await repeat(4, stop, () => ask(target, `/v1/hosts/${device}/exec`, { body }, stop));
      },
      target,
    ),
  'A3 streams that nobody reads': (target, stop) =>
    holding(
      stop,
      async (open) => {
        for (let n = 0; n < 50; n++) open(head('GET', '/v1/schedules/stream', target.keys.thief));
        await repeat(2, stop, () => ask(target, '/v1/schedules/pause', { body: '{}' }, stop));
      },
      target,
    ),
  'A3 answers that nobody reads': (target, stop) =>
    holding(
      stop,
      async (open) => {
        for (let n = 0; n < 6; n++) await ask(target, '/v1/schedules', { body: schedule({}) }, stop);
        for (let n = 0; n < 200 && !stop.aborted; n++) {
          open(head('GET', '/v1/schedules', target.keys.thief));
          await delay(20);
        }
      },
      target,
    ),
  'A4 stored answers': async (target, stop) => {
    await repeat(4, stop, () => {
      const headers = { 'idempotency-key': randomUUID() };
      return ask(target, '/v1/schedules', { body: schedule({ name: 'stored' }), headers }, stop);
    });
  },
  'A4 half-sent bodies': (target, stop) =>
    holding(
      stop,
      async (open) => {
        const pad = 'x'.repeat(11 * mib);
        for (let n = 0; n < 40; n++) {
          const more = ['content-type: application/json', `content-length: ${12 * mib}`];
          open(head('POST', '/v1/keys', target.keys.thief, more)).write(pad);
        }
      },
      target,
    ),
  'A4 devices': async (target, stop) => {
    await repeat(8, stop, () =>
      ask(target, '/v1/devices?limit=1', { headers: { 'x-svc-device': randomUUID() } }, stop),
    );
  },
  'A7 runs in the cloud that take long': async (target, stop) => {
    const spec = { url: `${target.slow.url}/late` };
    await repeat(8, stop, async (n) => {
      const trigger_id = `flood-${n}`;
      const body = schedule({ name: trigger_id, spec, overlap: 'queue', trigger: { type: 'event', trigger_id } });
      await ask(target, '/v1/schedules', { body }, stop);
      for (let run = 0; run < 20; run++) await ask(target, `/v1/triggers/${trigger_id}/fire`, { body: '{}' }, stop);
    });
    target.slow.answer();
  },
  'A10 keys made and revoked': async (target, stop) => {
    await repeat(4, stop, async () => {
      try {
        const headers = { authorization: `Bearer ${target.keys.thief}`, 'content-type': 'application/json' };
        const answer = await fetch(`${target.url}/v1/keys`, {
          method: 'POST',
          headers,
          body: '{"name":"x"}',
          signal: stop,
        });
        const { id } = (await answer.json()) as { id?: string };
        if (id !== undefined) await ask(target, `/v1/keys/${id}`, { method: 'DELETE' }, stop);
      } catch {
        // The flood is over.
      }
    });
  },
  'A15 wrong keys': async (target, stop) => {
    await repeat(16, stop, () => ask(target, '/v1/keys', { key: `svc_${randomBytes(28).toString('hex')}` }, stop));
  },
} satisfies Record<string, FloodWork>;

export type Flood = keyof typeof floods;
