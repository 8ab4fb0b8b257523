import { setTimeout as sleep } from 'node:timers/promises';
import type { contract, RouteEvent, RouteOutput } from '@svc/contract';
import { uuid } from '@svc/contract';
import { SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import type { CommonOptions } from '../config.ts';
import { defaultTiming } from '../connection.ts';
import { CommandError } from '../failure.ts';
import { sendOrStore } from '../outbox.ts';
import { describeWithTrace } from '../report.ts';
import { table } from '../table.ts';
import { deviceOf, open, promptOf, sayStored, told } from './shared.ts';

type Session = RouteOutput<typeof contract.sessions.get>;
type Frame = RouteEvent<typeof contract.sessions.follow>;

/** Options of `svc session tail`. */
export interface TailOptions extends CommonOptions {
  after: string;
}

/** Options of `svc session send`. */
export interface SendOptions extends CommonOptions {
  to?: string;
  title?: string;
  wait?: boolean;
}

/** `svc session list`: the newest sessions, as a table or as JSON. */
export async function listSessions(options: CommonOptions): Promise<void> {
  const { client, output } = await open(options);
  const { sessions } = await told(client.sessions.list({ query: { limit: 50 } }));
  if (options.json) return output.json({ sessions });
  if (sessions.length === 0) return output.log('there is no session');
  const rows = sessions.map(({ id, seq, lease, updated_at, title = '' }: Session) => [
    id,
    String(seq),
    lease?.device_id ?? '',
    updated_at,
    title,
  ]);
  for (const line of table([['SESSION', 'EVENTS', 'WRITES NOW', 'CHANGED', 'TITLE'], ...rows])) output.line(line);
}

/** `svc session show`: what was said in a session, or as JSON the session and all its events. */
export async function showSession(id: string, options: CommonOptions): Promise<void> {
  const { client, output } = await open(options);
  const params = { id: idOf(id) };
  if (!options.json) {
    const said = await told(client.sessions.transcript({ params }));
    for (const line of said === '' ? [] : said.split('\n')) output.line(line);
    return;
  }
  const session = await told(client.sessions.get({ params }));
  const events = [];
  for (let after = 0; ; ) {
    const page = await told(client.sessions.events({ params, query: { after, limit: 200 } }));
    events.push(...page.events);
    after = page.events.at(-1)?.seq ?? page.seq;
    if (after >= page.seq) break;
  }
  output.json({ ...session, events });
}

/** `svc session tail`: events as they come, from `--after` on, until it is stopped; goes on where a connection broke. */
export async function tailSession(id: string, options: TailOptions): Promise<void> {
  const { client, output } = await open(options);
  const params = { id: idOf(id) };
  if (!/^\d{1,15}$/.test(options.after))
    throw new CommandError(`--after must be a whole number, not "${options.after}"`);
  const backoff = createBackoff(...defaultTiming.retryMs);
  for (let after = Number(options.after); ; await sleep(backoff.next())) {
    // A connection that is gone may say nothing: after a sleep of this machine, for one.
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), defaultTiming.silenceMs);
    try {
      const call = { signal: silence.signal, onActivity: () => void timer.refresh() };
      for await (const frame of client.sessions.follow({ params, query: { after } }, call)) {
        backoff.reset();
        if (frame.event === 'event') after = frame.data.seq;
        if (options.json) output.json(frame);
        else for (const line of linesOf(frame)) output.line(line);
      }
    } catch (error) {
      if (error instanceof SvcError && error.status >= 400 && error.status < 500)
        throw new CommandError(describeWithTrace(error));
      output.log(`${silence.signal.aborted ? 'the connection is silent' : describeWithTrace(error)}; trying again`);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** `svc session send`: sends a prompt to the device of a session, or with `new` and `--to` in a new one. */
export async function sendPrompt(target: string, words: readonly string[], options: SendOptions): Promise<void> {
  const { client, config, output } = await open(options);
  const text = await promptOf(words);
  const device = options.to === undefined ? undefined : await deviceOf(client, options.to);
  if (target === 'new' && device === undefined) throw new CommandError('a new session needs a device: --to <device>');
  const title = options.title ?? text.trim().split('\n', 1)[0]?.slice(0, 120) ?? '';
  const id = target === 'new' ? (await told(client.sessions.create({ body: { title } }))).id : idOf(target);
  const body = { type: 'send', text, ...(device !== undefined && { target_device_id: device }) };
  const input = { params: { id }, body };
  const sending = { operation: 'sessions.sendControl', input, wait: options.wait === true } as const;
  const sent = await sendOrStore({ client, config, output }, sending);
  if (!sent) return sayStored(output, options);
  const control = sent.answer as RouteOutput<typeof contract.sessions.sendControl> | undefined;
  if (options.json) return output.json(control ?? { sent: true });
  output.line(`sent to ${control?.target_device_id ?? 'its device'}; follow it with: svc session tail ${id}`);
}

function linesOf({ event, data }: Frame): string[] {
  if (event === 'lease') return data.lease ? [`-- ${data.lease.device_id} writes`] : [];
  if (event === 'control') return [`-- ${data.type} for ${data.target_device_id}${data.acked_at ? ', taken' : ''}`];
  const { type, role = '', text = '' } = data;
  const ended = type === 'turn_end' && data.data ? ` ${JSON.stringify(data.data)}` : '';
  const [first = '', ...rest] = text.replace(/\n$/, '').split('\n');
  return [
    `${data.seq} ${type}${role && ` ${role}`}${first && `: ${first}`}${ended}`,
    ...rest.map((line) => `  ${line}`),
  ];
}

function idOf(text: string): string {
  const id = uuid.safeParse(text);
  if (!id.success) throw new CommandError(`"${text}" is no id of a session: see svc session list`);
  return id.data;
}
