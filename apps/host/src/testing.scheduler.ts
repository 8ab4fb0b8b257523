import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { commandHashInput } from '@svc/contract';
import type { ClaimedRun } from './runs/context.ts';
import type { RunOutcome } from './runs/journal.ts';
import { until } from './testing.ts';

/** A result that a host posted. */
export interface PostedResult extends RunOutcome {
  attempt: number;
}

type Body = Record<string, any>;

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
  /** Runs that were claimed, with the time. */
  readonly claimed: ClaimedRun[];
  /** What a heartbeat is answered: a body, or a status that refuses it. */
  onHeartbeat: (run: string) => Body | number;
  /** Status that refuses a result, or 200. */
  onResult: (run: string, body: PostedResult) => number;
  onNative: (body: Body) => number;
  onApprove: (body: Body) => number;
  /** What `schedules.list` answers. */
  schedules: Body[];
  pause: Body;
  /** Tells everyone who follows the schedules. */
  changed(op?: string): void;
  /** Serves a request; false when it is not the scheduler's. */
  serve(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean>;
}

/** Makes the scheduler of one fake gateway. */
export function fakeScheduler(jsonOf: (request: IncomingMessage) => Promise<unknown>): FakeScheduler {
  const queued: ClaimedRun[] = [];
  const waiting = new Set<(run: ClaimedRun | null) => boolean>();
  const following = new Set<ServerResponse>();
  const fake: FakeScheduler = {
    claims: [],
    heartbeats: new Map(),
    approved: [],
    native: [],
    results: new Map(),
    claimed: [],
    schedules: [],
    pause: { paused: false },
    onHeartbeat: () => ({ lease_expires_at: new Date(Date.now() + 60_000).toISOString(), cancel: false }),
    onResult: () => 200,
    onNative: () => 200,
    onApprove: () => 200,
    queue(run) {
      for (const take of waiting) if (take(run)) return run;
      queued.push(run);
      return run;
    },
    async result(run) {
      await until(() => fake.results.has(run.id), `the result of ${run.id}`);
      return fake.results.get(run.id)?.[0] as PostedResult;
    },
    changed(op = 'updated') {
      const data = JSON.stringify({ op, state: 'enabled' });
      for (const response of following) response.write(`event: schedule\ndata: ${data}\n\n`);
    },
    async serve(request, response, path) {
      const answer = (status: number, body: unknown): true => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
        return true;
      };
      const refuse = (status: number, code = status === 409 ? 'lease_held' : 'refused') =>
        answer(status, { error: { message: 'refused by the test', type: 'test', code } });
      if (path === '/v1/schedules') return answer(200, { schedules: fake.schedules, pause: fake.pause });
      if (path === '/v1/schedules/stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': hello\n\n');
        following.add(response);
        response.on('close', () => following.delete(response));
        return true;
      }
      if (path === '/v1/scheduler/claim') {
        fake.claims.push((await jsonOf(request)) as Body);
        const give = (run: ClaimedRun | null): true => {
          if (run) fake.claimed.push(run);
          return answer(200, { run });
        };
        const next = queued.shift();
        if (next) return give(next);
        const wait = (fake.claims.at(-1)?.['wait_s'] ?? 0) * 1000;
        if (wait === 0) return give(null);
        const take = (run: ClaimedRun | null): boolean => {
          waiting.delete(take);
          clearTimeout(timer);
          return !response.closed && give(run);
        };
        const timer = setTimeout(() => take(null), wait);
        waiting.add(take);
        response.on('close', () => {
          waiting.delete(take);
          clearTimeout(timer);
        });
        return true;
      }
      if (path === '/v1/scheduler/native-runs') {
        const body = (await jsonOf(request)) as Body;
        fake.native.push(body);
        const status = fake.onNative(body);
        return status === 200 ? answer(200, { run: {} }) : refuse(status);
      }
      if (/^\/v1\/schedules\/[^/]+\/approve-command$/.test(path)) {
        const id = path.split('/')[3];
        const device = request.headers['x-svc-device'];
        if (request.method === 'DELETE') {
          fake.approved.push({ id, device, revoked: true });
          return answer(200, { approved: false, device_id: device });
        }
        const body = (await jsonOf(request)) as Body;
        fake.approved.push({ id, device, ...body });
        const status = fake.onApprove(body);
        return status === 200 ? answer(200, { approved: true, device_id: device }) : refuse(status, 'hash_mismatch');
      }
      const [, id = '', verb] = /^\/v1\/schedule-runs\/([^/]+)\/(heartbeat|result)$/.exec(path) ?? [];
      if (verb === undefined) return false;
      const body = (await jsonOf(request)) as PostedResult;
      const kept: Map<string, Body[]> = verb === 'result' ? (fake.results as Map<string, any[]>) : fake.heartbeats;
      kept.set(id, [...(kept.get(id) ?? []), body]);
      if (verb === 'heartbeat') {
        const beat = fake.onHeartbeat(id);
        return typeof beat === 'number' ? refuse(beat) : answer(200, beat);
      }
      const status = fake.onResult(id, body);
      return status === 200 ? answer(200, { run: {} }) : refuse(status);
    },
  };
  return fake;
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
