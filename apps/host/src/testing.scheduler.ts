import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { commandHashInput } from '@svc/contract';
import type { ClaimedRun } from './runs/context.ts';
import type { RunOutcome } from './runs/journal.ts';

/** A result that a host posted. */
interface PostedResult extends RunOutcome {
  attempt: number;
}

type Body = Record<string, unknown>;

/** The scheduler's routes of the fake gateway: what is queued is claimed once, and what hosts say is kept. */
export interface FakeScheduler {
  /** Puts a run up for claiming. */
  queue(run: ClaimedRun): ClaimedRun;
  /** The result of a run, once it was posted. */
  result(run: ClaimedRun): Promise<PostedResult>;
  /** Bodies of all claims, of all heartbeats by run, of approvals and of slots that the machine ran by itself. */
  readonly claims: Body[];
  readonly heartbeats: Map<string, Body[]>;
  readonly approved: Body[];
  readonly native: Body[];
  readonly results: Map<string, PostedResult[]>;
  /** The received log of each attempt, `<run>.<attempt>`. */
  readonly logs: Map<string, string>;
  /** Status that refuses a piece of a log, or 200. */
  onLog: (run: string) => number;
  /** Runs that were claimed, with the time. */
  readonly claimed: ClaimedRun[];
  /** The answer to a heartbeat: a body, or a status that refuses it. */
  onHeartbeat: (run: string) => Body | number;
  /** Status that refuses a result, or 200. */
  onResult: (run: string, body: PostedResult) => number;
  onNative: (body: Body) => number;
  onApprove: (body: Body) => number;
  /** The answer of `schedules.list`. */
  schedules: Body[];
  pause: Body;
  /** Tells everyone who follows the schedules. */
  changed(op?: string): void;
  /** True for a path of the scheduler. */
  serves(path: string): boolean;
  /** Serves a request; false when there is no such route. */
  serve(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean>;
}

/** Who waits for what. */
interface State {
  fake: FakeScheduler;
  queued: ClaimedRun[];
  claiming: Set<(run: ClaimedRun | null) => boolean>;
  following: Set<ServerResponse>;
  resulting: Map<string, (result: PostedResult) => void>;
}

/** One request: its body, and the ways to answer it. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  path: string;
  body: Body;
  answer: (status: number, body: unknown) => true;
  refuse: (status: number, code?: string) => true;
}

/** Makes the scheduler of one fake gateway. */
export function fakeScheduler(jsonOf: (request: IncomingMessage) => Promise<unknown>): FakeScheduler {
  const state: Omit<State, 'fake'> = { queued: [], claiming: new Set(), following: new Set(), resulting: new Map() };
  const fake: FakeScheduler = {
    claims: [],
    heartbeats: new Map(),
    approved: [],
    native: [],
    results: new Map(),
    logs: new Map(),
    onLog: () => 200,
    claimed: [],
    schedules: [],
    pause: { paused: false },
    onHeartbeat: () => ({ lease_expires_at: new Date(Date.now() + 60_000).toISOString(), cancel: false }),
    onResult: () => 200,
    onNative: () => 200,
    onApprove: () => 200,
    queue(run) {
      for (const take of state.claiming) if (take(run)) return run;
      state.queued.push(run);
      return run;
    },
    result(run) {
      const [posted] = fake.results.get(run.id) ?? [];
      return posted ? Promise.resolve(posted) : new Promise((resolve) => state.resulting.set(run.id, resolve));
    },
    changed(op = 'updated') {
      const data = JSON.stringify({ op, state: 'enabled' });
      for (const response of state.following) response.write(`event: schedule\ndata: ${data}\n\n`);
    },
    serves: (path) => /^\/v1\/(scheduler|schedules|schedule-runs)(\/|$)/.test(path),
    async serve(request, response, path) {
      if (path.endsWith('/log')) return serveLog(fake, request, response, path);
      const body = request.method === 'POST' ? ((await jsonOf(request)) as Body) : {};
      const answer = (status: number, content: unknown): true => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(content));
        return true;
      };
      const refuse = (status: number, code = status === 409 ? 'lease_held' : 'refused') =>
        answer(status, { error: { message: 'refused by the test', type: 'test', code } });
      const exchange = { request, response, path, body, answer, refuse };
      const whole = { ...state, fake };
      return serveSchedules(whole, exchange) || serveClaim(whole, exchange) || serveRun(whole, exchange);
    },
  };
  return fake;
}

function serveSchedules({ fake, following }: State, exchange: Exchange): boolean {
  const { request, response, path, body, answer, refuse } = exchange;
  if (path === '/v1/schedules') return answer(200, { schedules: fake.schedules, pause: fake.pause });
  if (path === '/v1/schedules/stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hello\n\n');
    following.add(response);
    response.on('close', () => following.delete(response));
    return true;
  }
  const [, id] = /^\/v1\/schedules\/([^/]+)\/approve-command$/.exec(path) ?? [];
  if (id === undefined) return false;
  const device = request.headers['x-svc-device'];
  if (request.method === 'DELETE') {
    fake.approved.push({ id, device, revoked: true });
    return answer(200, { approved: false, device_id: device });
  }
  fake.approved.push({ id, device, ...body });
  const status = fake.onApprove(body);
  return status === 200 ? answer(200, { approved: true, device_id: device }) : refuse(status, 'hash_mismatch');
}

function serveClaim({ fake, queued, claiming }: State, { path, body, response, answer }: Exchange): boolean {
  if (path !== '/v1/scheduler/claim') return false;
  fake.claims.push(body);
  const give = (run: ClaimedRun | null): true => {
    if (run) fake.claimed.push(run);
    return answer(200, { run });
  };
  const next = queued.shift();
  if (next) return give(next);
  const wait = Number(body['wait_s'] ?? 0) * 1000;
  if (wait === 0) return give(null);
  const leave = () => {
    claiming.delete(take);
    clearTimeout(timer);
  };
  const take = (run: ClaimedRun | null): boolean => {
    leave();
    return !response.closed && give(run);
  };
  const timer = setTimeout(() => take(null), wait);
  claiming.add(take);
  response.on('close', leave);
  return true;
}

function serveRun({ fake, resulting }: State, { path, body, answer, refuse }: Exchange): boolean {
  if (path === '/v1/scheduler/native-runs') {
    fake.native.push(body);
    const status = fake.onNative(body);
    return status === 200 ? answer(200, { run: {} }) : refuse(status);
  }
  const [, id = '', verb] = /^\/v1\/schedule-runs\/([^/]+)\/(heartbeat|result)$/.exec(path) ?? [];
  if (verb === undefined) return false;
  if (verb === 'heartbeat') {
    fake.heartbeats.set(id, [...(fake.heartbeats.get(id) ?? []), body]);
    const beat = fake.onHeartbeat(id);
    return typeof beat === 'number' ? refuse(beat) : answer(200, beat);
  }
  const posted = body as unknown as PostedResult;
  fake.results.set(id, [...(fake.results.get(id) ?? []), posted]);
  resulting.get(id)?.(posted);
  const status = fake.onResult(id, posted);
  return status === 200 ? answer(200, { run: {} }) : refuse(status);
}

async function serveLog(fake: FakeScheduler, request: IncomingMessage, response: ServerResponse, path: string) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const [id = ''] = path.split('/').slice(-2);
  const query = new URL(request.url ?? '', 'http://x').searchParams;
  const key = `${id}.${query.get('attempt')}`;
  const known = Buffer.from(fake.logs.get(key) ?? '').subarray(0, Number(query.get('offset')));
  const status = fake.onLog(id);
  if (status === 200) fake.logs.set(key, Buffer.concat([known, ...chunks]).toString());
  const error = { message: 'refused by the test', type: 'test', code: 'refused' };
  response.writeHead(status, { 'content-type': 'application/json' });
  const bytes = Buffer.byteLength(fake.logs.get(key) ?? '');
  response.end(JSON.stringify(status === 200 ? { bytes, full: false } : { error }));
  return true;
}

/** A run that can be claimed. */
export function newRun(changes: Partial<ClaimedRun> & Pick<ClaimedRun, 'kind' | 'spec'>): ClaimedRun {
  const now = Date.now();
  const { spec, kind } = changes;
  return {
    id: randomUUID(),
    attempt: 1,
    schedule_id: randomUUID(),
    name: 'a schedule',
    scheduled_for: new Date(now).toISOString(),
    timeout_s: 60,
    lease_expires_at: new Date(now + 60_000).toISOString(),
    ...(kind === 'shell' && { command_hash: hashOf(spec) }),
    ...changes,
  };
}

/** The hash that the gateway makes of a command. */
export function hashOf(spec: Record<string, unknown>): string {
  return createHash('sha256')
    .update(commandHashInput(spec as { command: string }))
    .digest('hex');
}
