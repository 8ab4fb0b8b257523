import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { instantOf } from '../../kernel/db/instant.ts';
import { bySystem } from '../../kernel/records/audit.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import {
  type Environments,
  type EnvironmentRow,
  lockEnvironment,
  mintForMachine,
  placeMachine,
} from '../environments/index.ts';
import { bootScript, programSum } from './clouds.boot.ts';
import { openCloud } from './clouds.check.ts';
import { bootNode } from './clouds.node.ts';
import { type Cloud, CloudFailure, type CloudMachine } from './clouds.driver.ts';
import type { Clouds } from './clouds.providers.ts';
import { decide, type MachineStep } from './clouds.rules.ts';
import { changeTaken, deleteTaken, findTaken, type MachineChange, type MachineRow } from './clouds.sql.ts';

/** Between two looks: while something is under way, and when all is as it should be. */
const soonMs = 10_000;
const restMs = 300_000;
/** Between two tries at a provider that fails, at most. */
const mostWaitMs = 60_000;
/** A provider that has no room, or fails, for so long has refused. */
const fullMs = 3_600_000;
const failingMs = 24 * 3_600_000;

const doer = { accountId: null, kind: 'system', by: bySystem } as const;

/** The parts of the process that looking at machines needs. */
export type MachineParts = Pick<Kernel, 'sql' | 'clock' | 'log' | 'upstream' | 'keyring' | 'config'> & {
  readonly clouds: Clouds;
  readonly environments: Environments;
};

interface Taken {
  id: string;
  lease: string;
}

/** Looks at one machine and does the next step; answers in how many milliseconds to look again. */
export async function lookAt(parts: MachineParts, taken: Taken): Promise<number> {
  const row = await findTaken(parts.sql, parts.clock, taken);
  if (!row) return restMs;
  const entry = parts.clouds.find(row.provider, row.region);
  if (row.asked_at === null && row.ref === null && row.state === null) return forget(parts, taken);
  if (!entry) {
    await note(parts, taken, row, { kind: 'busy', message: 'the providers file does not list its provider any more' });
    return restMs;
  }
  const leftAloneMs = parts.clouds.restOf(entry);
  if (leftAloneMs > 0) {
    await note(parts, taken, row, { kind: 'busy', message: row.failure ?? 'it asked to be left alone' });
    return leftAloneMs;
  }
  const cloud = openCloud({ kernel: parts, entry, installation: await parts.clouds.installation() });
  try {
    const seen = await cloud.read(taken.id);
    const now = Date.parse(row.now);
    const known = seenAs(row, seen);
    const step = decide({
      state: row.state ?? undefined,
      stateSince: Date.parse(known.seen_since),
      hasRun: row.has_run,
      askedAt: row.asked_at === null ? undefined : Date.parse(row.asked_at),
      isKnown: row.ref !== null,
      seen,
      seenSince: Date.parse(known.status_since),
      now,
    });
    if (!(await keep(parts, taken, row, { ...known, seen }))) return restMs;
    return await take(parts, { taken, row, cloud, seen }, step);
  } catch (error) {
    if (!(error instanceof CloudFailure)) throw error;
    if (error.kind === 'busy' && error.waitMs !== undefined) parts.clouds.leaveAlone(entry, error.waitMs);
    return failed(parts, taken, row, error);
  }
}

/** What a look finds, and since when it is so. */
function seenAs(row: MachineRow, seen: CloudMachine | undefined) {
  const status = seen?.status ?? null;
  return {
    status,
    status_since: status === row.status ? row.status_since : row.now,
    seen_state: row.state,
    seen_since: row.state === row.seen_state ? row.seen_since : row.now,
  };
}

/** Writes what was found; false when another process looks at it by now. */
async function keep(
  { sql, clock }: MachineParts,
  { id, lease }: Taken,
  row: MachineRow,
  { seen, ...known }: ReturnType<typeof seenAs> & { seen: CloudMachine | undefined },
): Promise<boolean> {
  // A machine that is being deleted is nobody's any more.
  const isThere = seen !== undefined && seen.status !== 'leaving';
  const change: MachineChange = { ...known, failing_since: null, failure: null };
  if (isThere && row.state !== null) Object.assign(change, { ref: seen.ref, asked_at: row.asked_at ?? row.now });
  return inTransaction(sql, async (tx) => {
    if (isThere) await placeMachine(tx, clock, id, { ref: seen.ref, address: seen.address });
    return changeTaken(tx, { id, lease }, change);
  });
}

interface Doing {
  taken: Taken;
  row: MachineRow;
  cloud: Cloud;
  seen: CloudMachine | undefined;
}

/** Does a step; answers in how many milliseconds to look again. */
async function take(parts: MachineParts, doing: Doing, step: MachineStep): Promise<number> {
  const { taken, row, cloud, seen } = doing;
  const ref = seen?.ref ?? '';
  if (step.do === 'rest') return restMs;
  if (step.do === 'over') return over(parts, taken, row);
  if (step.do === 'create') await create(parts, doing);
  if (step.do === 'start') await cloud.start(ref);
  if (step.do === 'stop' || step.do === 'force') await cloud.stop(ref, step.do === 'force');
  if (step.do === 'delete') {
    await cloud.delete(ref);
    await noMachine(parts, taken);
  }
  if (step.do !== 'tell') return soonMs;
  await tell(parts, taken, row, step);
  return 0;
}

/** Asks for a machine. What may be there is written down before. */
async function create(parts: MachineParts, { taken, row, cloud }: Doing): Promise<void> {
  const boot = { baseUrl: parts.config.baseUrl, sha256: await programSum(), node: await bootNode(parts.keyring) };
  const made = row.made + (row.asked_at === null ? 1 : 0);
  const token = await inState(parts, taken, row, async (tx, environment, now) => {
    await changeTaken(tx, taken, { made, asked_at: now });
    return mintForMachine(tx, parts, instantOf(Date.parse(now)), environment, made);
  });
  if (token === undefined) return;
  const { id } = taken;
  const machine = await cloud.create({
    environmentId: id,
    size: row.size ?? 'small',
    userData: bootScript({ ...boot, token }),
    once: made === 1 ? id : `${id}-${made}`,
  });
  await keep(parts, taken, row, { ...seenAs(row, machine), seen: machine });
}

/** Works on the environment, locked, while it is in the state that was looked at; undefined when it is not any more. */
async function inState<T>(
  { sql, clock }: MachineParts,
  { id, lease }: Taken,
  { state }: MachineRow,
  work: (tx: Db, environment: EnvironmentRow, now: string) => Promise<T>,
): Promise<T | undefined> {
  return inTransaction(sql, async (tx) => {
    const environment = await lockEnvironment(tx, id);
    const row = await findTaken(tx, clock, { id, lease, lock: true });
    return environment && row && environment.state === state ? work(tx, environment, row.now) : undefined;
  });
}

async function tell(
  parts: MachineParts,
  taken: Taken,
  row: MachineRow,
  step: Extract<MachineStep, { do: 'tell' }>,
): Promise<void> {
  const { environments } = parts;
  await inState(parts, taken, row, (tx, environment) =>
    step.move === 'stopped'
      ? environments.move(tx, environment, 'stopped', {}, doer)
      : environments.move(tx, environment, step.move, { reason: step.reason }, doer),
  );
}

/** There is no machine, and there should be none. */
async function over(parts: MachineParts, taken: Taken, row: MachineRow): Promise<number> {
  if (row.state === null) return forget(parts, taken);
  await noMachine(parts, taken);
  if (row.state !== 'destroying') return restMs;
  await inState(parts, taken, row, async (tx, environment) => {
    await parts.environments.move(tx, environment, 'gone', {}, doer);
    await deleteTaken(tx, taken);
  });
  return restMs;
}

/** Its provider takes it away, or has none. */
async function noMachine({ sql, clock }: MachineParts, taken: Taken): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await placeMachine(tx, clock, taken.id, { ref: null, address: null });
    await changeTaken(tx, taken, { ref: null, asked_at: null });
  });
}

async function forget(parts: MachineParts, taken: Taken): Promise<number> {
  await deleteTaken(parts.sql, taken);
  return restMs;
}

/** What a failure means for the environment; answers in how many milliseconds to try again. */
async function failed(parts: MachineParts, taken: Taken, row: MachineRow, failure: CloudFailure): Promise<number> {
  const forMs = await note(parts, taken, row, failure);
  const isFinal = failure.kind === 'refused' || forMs > (failure.kind === 'full' ? fullMs : failingMs);
  // What runs, or should stand still, is not given up because its provider cannot be asked.
  const mayFail = row.state === 'creating' || row.state === 'starting';
  if (isFinal && mayFail) await tell(parts, taken, row, { do: 'tell', move: 'fail', reason: failure.message });
  return failure.waitMs ?? Math.min(mostWaitMs, soonMs + forMs / 10);
}

/** Writes a failure down, and says it once; answers for how many milliseconds it goes on. */
async function note(
  { sql, log }: MachineParts,
  taken: Taken,
  row: MachineRow,
  { kind, message }: Pick<CloudFailure, 'kind' | 'message'>,
): Promise<number> {
  const since = row.failing_since ?? row.now;
  if (message !== row.failure)
    log.warn({ environment: taken.id, kind, reason: message }, 'a provider of machines does not do what it should');
  await changeTaken(sql, taken, {
    failing_since: since,
    failure: message,
    seen_state: row.state,
    ...(row.state !== row.seen_state && { seen_since: row.now }),
  });
  return Date.parse(row.now) - Date.parse(since);
}
