// An account that does ordinary work while another one attacks: a machine with a schedule of every second, chat, small writes.
// Ends with SIGTERM and prints what it met, as JSON.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import { percentile } from '../lib/stats.ts';

/** Result of a bystander; times in milliseconds. */
export interface Met {
  chatP99: number;
  writeP99: number;
  /** The latest start of a run after its slot. */
  latest: number;
  runs: number;
  failed: number;
}

const { url, key } = JSON.parse(process.argv[2] ?? '{}') as { url: string; key: string };
const everyMs = 200;
/** Of another address than who attacks. */
const dispatcher = new Agent({ localAddress: '127.0.0.2' });
const device = { 'x-svc-device': randomUUID() };
const over = new AbortController();
const [chats, writes, lags]: [number[], number[], number[]] = [[], [], []];
let failed = 0;

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url + path, {
    method,
    dispatcher,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { ok: answer.ok, body: (await answer.json().catch(() => ({}))) as Record<string, never> };
}

async function timed(into: number[], work: () => Promise<{ ok: boolean }>): Promise<void> {
  const began = performance.now();
  const answer = await work().catch(() => ({ ok: false }));
  into.push(performance.now() - began);
  if (!answer.ok) failed += 1;
}

/** A machine that takes the runs of a schedule of every second. */
async function serve(): Promise<void> {
  const trigger = { type: 'interval', every_s: 1 };
  const schedule = { name: 'bystander', kind: 'agent', spec: { prompt: 'x' }, trigger };
  const made = await call('POST', '/v1/schedules', schedule).catch(() => undefined);
  if (!made?.ok) failed += 1;
  while (!over.signal.aborted) {
    const { body } = await call('POST', '/v1/scheduler/claim', { wait_s: 5, kinds: ['agent'] }, device).catch(() => ({
      body: {} as Record<string, never>,
    }));
    const run = body['run'] as { id: string; attempt: number; scheduled_for: string } | null | undefined;
    if (!run) continue;
    lags.push(Date.now() - Date.parse(run.scheduled_for));
    await call('POST', `/v1/schedule-runs/${run.id}/result`, { attempt: run.attempt, ok: true }, device).catch(
      () => {},
    );
  }
  if (made) await call('DELETE', `/v1/schedules/${made.body['id']}`).catch(() => {});
}

async function chat(): Promise<void> {
  const body = { model: 'bench', messages: [{ role: 'user', content: 'x' }] };
  for (; !over.signal.aborted; await delay(everyMs))
    await timed(chats, () => call('POST', '/v1/chat/completions', body));
}

async function write(): Promise<void> {
  for (; !over.signal.aborted; await delay(everyMs)) {
    await timed(writes, async () => {
      const made = await call('POST', '/v1/prompts', { prompt: 'x' });
      return made.ok ? call('DELETE', `/v1/prompts/${made.body['id']}`) : made;
    });
  }
}

process.once('SIGTERM', () => over.abort());
process.stdout.write('begun\n');
await Promise.all([serve(), chat(), write()]);
const of = (all: number[], share: number): number => Math.round(percentile(all, share));
const met: Met = {
  chatP99: of(chats, 0.99),
  writeP99: of(writes, 0.99),
  latest: of(lags, 1),
  runs: lags.length,
  failed,
};
process.stdout.write(`${JSON.stringify(met)}\n`);
process.exit(0);
