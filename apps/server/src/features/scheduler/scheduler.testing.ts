import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { SettingName } from '../../config.ts';
import { type TestClock, testClock } from '../../kernel/base/clock.ts';
import {
  createAccount,
  http,
  type HttpAnswer,
  startGateway,
  type TestAccount,
  type TestDatabase,
  type TestGateway,
  testDatabase,
  until,
} from '../../testing.ts';

/** The tests look into bodies of every shape. */
export type Json = HttpAnswer['body'];
export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;

/** A gateway whose time stands still until a test turns it, and an account to make schedules in. */
export interface SchedulerTest extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly database: TestDatabase;
  readonly account: TestAccount;
  readonly clock: TestClock;
  call(method: string, path: string, body?: unknown, device?: string): Promise<HttpAnswer>;
  /** Creates a schedule: an agent, every minute, unless `fields` say otherwise. */
  create(fields?: Json): Promise<Json>;
  get(id: string): Promise<Json>;
  /** Runs of a schedule, newest first. */
  runsOf(schedule: { id: string }): Promise<Json[]>;
  runNow(schedule: { id: string }): Promise<boolean>;
  claim(device: string, body?: Json): Promise<Json>;
  heartbeat(run: { id: string; attempt: number }, device: string, body?: Json): Promise<HttpAnswer>;
  result(run: { id: string; attempt: number }, device: string, body: Json): Promise<HttpAnswer>;
  /** Turns the clock and waits until the tickers have come to what the test waits for. */
  turn(ms: number, isDone: () => Promise<boolean>): Promise<void>;
  /** The same for a schedule's newest run to be in a state. */
  turnTo(ms: number, schedule: { id: string }, state: string): Promise<Json>;
  /** The same test in a fresh account. */
  fresh(): Promise<SchedulerTest>;
  close(): Promise<void>;
}

/** Monday 2026-11-23 in the morning; no holiday, no change of clocks near. */
const start = Date.parse('2026-11-23T09:00:10Z');

/** Opens a database and a gateway for tests of the scheduler. */
export async function openScheduler(
  options: { settings?: Partial<Record<SettingName, string>>; start?: number } = {},
): Promise<SchedulerTest> {
  const clock = testClock(options.start ?? start);
  const database = await testDatabase();
  const gateway = await startGateway(database, { clock, ...(options.settings && { settings: options.settings }) });
  return schedulerTest(database, gateway, clock, await createAccount(gateway));
}

const defaults = {
  name: 'test',
  kind: 'agent',
  spec: { prompt: 'hello' },
  trigger: { type: 'cron', expr: '* * * * *' },
};

/** The helpers of a test for one account. */
export function schedulerTest(
  database: TestDatabase,
  gateway: TestGateway,
  clock: TestClock,
  account: TestAccount,
): SchedulerTest {
  const call = (method: string, path: string, body?: unknown, device?: string): Promise<HttpAnswer> =>
    http(gateway.url, path, {
      method,
      key: account.key,
      ...(body !== undefined && { body }),
      ...(device !== undefined && { headers: { 'x-svc-device': device } }),
    });
  const ok = async (answer: Promise<HttpAnswer>, status = 200): Promise<Json> => {
    const { status: got, body } = await answer;
    assert.equal(got, status, JSON.stringify(body));
    return body;
  };
  const runsOf = async ({ id }: { id: string }): Promise<Json[]> =>
    (await ok(call('GET', `/v1/schedules/${id}/runs?limit=200`))).runs;
  const turn = async (ms: number, isDone: () => Promise<boolean>): Promise<void> => {
    clock.leap(ms);
    await until(async () => {
      await wake(gateway, account);
      return isDone();
    });
  };
  const close = async (): Promise<void> => {
    await gateway.close();
    await database.drop();
  };
  return {
    database,
    gateway,
    account,
    clock,
    call,
    runsOf,
    turn,
    create: (fields = {}) => ok(call('POST', '/v1/schedules', { ...defaults, ...fields }), 201),
    get: (id) => ok(call('GET', `/v1/schedules/${id}`)),
    runNow: async ({ id }) => (await ok(call('POST', `/v1/schedules/${id}/run`), 202)).queued,
    claim: async (device, body = {}) => (await ok(call('POST', '/v1/scheduler/claim', body, device))).run,
    heartbeat: (run, device, body = {}) =>
      call('POST', `/v1/schedule-runs/${run.id}/heartbeat`, { attempt: run.attempt, ...body }, device),
    result: (run, device, body) =>
      call('POST', `/v1/schedule-runs/${run.id}/result`, { attempt: run.attempt, ...body }, device),
    async turnTo(ms, schedule, state) {
      let newest: Json;
      await turn(ms, async () => {
        [newest] = await runsOf(schedule);
        return newest?.state === state;
      });
      return newest;
    },
    fresh: async () => schedulerTest(database, gateway, clock, await createAccount(gateway)),
    [Symbol.asyncDispose]: close,
    close,
  };
}

/** The clock stands still: tickers that slept through a turn of it would sleep on. */
async function wake({ kernel }: TestGateway, account: TestAccount): Promise<void> {
  await kernel.bus.publish(kernel.sql, 'scheduler.moved', { account: account.id, wake: true, over: [] });
}

/** A device id; devices are registered by their first call. */
export const newDevice = (): string => randomUUID();

/** A shell schedule's fields. */
export const shell = (command: string, fields: Json = {}): Json => ({
  kind: 'shell',
  spec: { command, shell: 'sh' },
  ...fields,
});
