import { randomBytes, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { World } from './world.ts';

/** Target of a flood: the platform, as a person with a key reaches it. */
type Target = Pick<World, 'url' | 'keys' | 'slow' | 'emails'>;
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

/** Makes something and answers its id; undefined when it was refused, or the flood is over. */
async function idOf(
  { url, keys }: Target,
  path: string,
  body: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const headers = { authorization: `Bearer ${keys.thief}`, 'content-type': 'application/json' };
    const answer = await fetch(url + path, { method: 'POST', headers, body, signal });
    const made = (await answer.json()) as { id?: string; project?: { id: string }; environment?: { id: string } };
    return made.id ?? made.project?.id ?? made.environment?.id;
  } catch {
    return undefined;
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

interface Members {
  members?: { user_id: string; email?: string }[];
}

/** The answer to a GET, whatever it is; nothing when there is none. */
async function read({ url, keys }: Target, path: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await (await fetch(url + path, { headers: { authorization: `Bearer ${keys.thief}` }, signal })).json();
  } catch {
    return {};
  }
}

/** Makes an environment of the thief's. */
async function environmentOf(target: Target, stop: AbortSignal): Promise<string | undefined> {
  const project = await idOf(target, '/v1/projects', '{"name":"x"}', stop);
  return idOf(target, '/v1/environments', JSON.stringify({ project_id: project, provider: 'byo', name: 'x' }), stop);
}

const schedule = (fields: object): string =>
  JSON.stringify({
    name: 'flood',
    kind: 'http',
    spec: { method: 'POST', url: 'https://example.com', body: 'x'.repeat(900_000) },
    trigger: { type: 'event', trigger_id: 'never' },
    ...fields,
  });

/** Attacks that go on until they are told to stop; the name begins with its row of the lists of attacks. */
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
      const id = await idOf(target, '/v1/keys', '{"name":"x"}', stop);
      if (id !== undefined) await ask(target, `/v1/keys/${id}`, { method: 'DELETE' }, stop);
    });
  },
  'A15 wrong keys': async (target, stop) => {
    await repeat(16, stop, () => ask(target, '/v1/keys', { key: `svc_${randomBytes(28).toString('hex')}` }, stop));
  },
  'H3 schedules of every second': async (target, stop) => {
    const every = { trigger: { type: 'interval', every_s: 1 }, overlap: 'kill' };
    const body = JSON.stringify({ name: 'flood', kind: 'agent', spec: { prompt: 'x' }, ...every });
    await repeat(4, stop, () => ask(target, '/v1/schedules', { body }, stop));
  },
  'H4 lists of messages': async (target, stop) => {
    const list = (length: number) =>
      JSON.stringify(Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} })));
    const headers = { accept: 'application/json, text/event-stream' };
    await repeat(8, stop, (n) => ask(target, '/mcp', { body: list(n % 2 === 0 ? 10 : 100), headers }, stop));
  },
  'H4 forms of many parts': async (target, stop) => {
    const body = `${'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n'.repeat(200_000)}--x--\r\n`;
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    await repeat(2, stop, () => ask(target, '/v1/audio/transcriptions', { body, headers }, stop));
  },
  'H6 bodies that take all the room': (target, stop) =>
    holding(
      stop,
      async (open) => {
        const pad = `{"name":"${'x'.repeat(11 * mib)}`;
        const more = ['content-type: application/json', `content-length: ${12 * mib}`];
        const { thief, careless } = target.keys;
        for (const key of [thief, thief, careless, careless]) open(head('POST', '/v1/keys', key, more)).write(pad);
        for (let n = 0; n < 4; n++) open(head('POST', '/v1/hosts/invites/redeem', 'none', more)).write(pad);
      },
      target,
    ),
  'H9 requests that cost nothing': async (target, stop) => {
    await repeat(16, stop, () => ask(target, '/v1/keys?limit=1', {}, stop));
  },
  'H11 half heads': async (target, stop) => {
    await repeat(1, stop, async () => {
      const round = AbortSignal.any([stop, AbortSignal.timeout(2_000)]);
      await holding(
        round,
        async (open) => {
          for (let n = 0; n < 2_000 && !round.aborted; n++) {
            open('GET /health HTTP/1.1\r\nhost: ');
            if (n % 100 === 99) await delay(1);
          }
        },
        target,
      );
    });
  },
  'H14 commands to two hosts that read nothing': (target, stop) =>
    holding(
      stop,
      async (open) => {
        const devices = [randomUUID(), randomUUID()];
        for (const device of devices)
          open(head('GET', '/v1/hosts/stream?os=linux&hostname=deaf', target.keys.thief, [`x-svc-device: ${device}`]));
        const body = JSON.stringify({ op: 'shell', args: { command: 'x'.repeat(11 * mib) }, timeout_ms: 1_000 });
        await repeat(4, stop, (n) => ask(target, `/v1/hosts/${devices[n % 2]}/exec`, { body }, stop));
      },
      target,
    ),
  'F4 turns beside long prompts': async (target, stop) => {
    const text = (n: number): string =>
      Array.from({ length: 14_000 }, (_, at) => `w${(at * (n + 7)) % 9_973}`).join(' ');
    for (let n = 0; n < 20; n++) await ask(target, '/v1/prompts', { body: JSON.stringify({ prompt: text(n) }) }, stop);
    const id = await idOf(target, '/v1/sessions', '{}', stop);
    const device = { 'x-svc-device': randomUUID() };
    let seq = 0;
    await repeat(1, stop, async () => {
      const events = [{ type: 'turn_start', turn_id: randomUUID(), role: 'user', text: text(seq) }];
      const body = JSON.stringify({ expected_seq: seq, events });
      if ((await ask(target, `/v1/sessions/${id}/events`, { body, headers: device }, stop)) === 200) seq += 1;
    });
  },
  'R1 members in a loop': async (target, stop) => {
    const id = await environmentOf(target, stop);
    const { owner } = target.emails;
    await repeat(4, stop, async () => {
      await ask(
        target,
        `/v1/environments/${id}/members`,
        { body: JSON.stringify({ email: owner, role: 'viewer' }) },
        stop,
      );
      const { members } = (await read(target, `/v1/environments/${id}/members`, stop)) as Members;
      for (const { user_id: user, email } of members ?? [])
        if (email === owner) await ask(target, `/v1/environments/${id}/members/${user}`, { method: 'DELETE' }, stop);
    });
  },
  'R1 renames': async (target, stop) => {
    const id = await environmentOf(target, stop);
    await repeat(8, stop, (n) => {
      const body = JSON.stringify({ name: `renamed ${n} ${randomUUID()}` });
      return ask(target, `/v1/environments/${id}`, { method: 'PATCH', body }, stop);
    });
  },
  'N sign-ins of apps': async (target, stop) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const client = 'client_id=https%3A%2F%2Fapp.example%2Fclient.json';
    const back = 'redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fcallback';
    const works = [
      () => ask(target, '/auth/register', { body: '{"redirect_uris":["http://127.0.0.1:9/callback"]}' }, stop),
      () => ask(target, `/auth/authorize?${client}&${back}&response_type=code&code_challenge_method=S256`, {}, stop),
      () => token(`grant_type=refresh_token&${client}&refresh_token=${randomUUID()}`),
      () => token(`grant_type=authorization_code&${client}&${back}&code=${randomUUID()}&code_verifier=${randomUUID()}`),
    ];
    const token = (body: string) => ask(target, '/auth/token', { body, headers: form }, stop);
    await repeat(16, stop, async (n) => works[n % works.length]?.());
  },
  'R4 overviews and searches': async (target, stop) => {
    const paths = [
      '/v1/overview',
      '/v1/overview/find?q=e',
      '/v1/transcripts/search?mode=text&q=name',
      '/v1/usage/requests',
    ];
    await repeat(32, stop, (n) => ask(target, paths[n % paths.length] ?? '', {}, stop));
  },
  'R6 connections that ask nothing': (target, stop) =>
    holding(
      stop,
      async (open) => {
        for (let n = 0; n < 3_000 && !stop.aborted; n++) {
          open('');
          if (n % 100 === 99) await delay(1);
        }
      },
      target,
    ),
} satisfies Record<string, FloodWork>;

export type Flood = keyof typeof floods;
