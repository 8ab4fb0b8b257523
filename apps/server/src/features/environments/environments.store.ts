import { ApiError } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Recorder } from '../../kernel/streams/feed.ts';
import { type Who, writeAct } from '../../kernel/records/audit.ts';
import { noteGone } from '../../kernel/records/let-in.ts';
import type { Metrics } from '../../kernel/base/metrics.ts';
import { type EnvironmentHooks, noHooks } from './environments.hooks.ts';
import { insertEvent } from './environments.events.sql.ts';
import { tellMembers } from './environments.feed.ts';
import { endMachineKey } from './environments.machines.ts';
import { mayHaveMachine } from './environments.machines.sql.ts';
import { type EnvironmentGiven, type EnvironmentMove, moveOf } from './environments.moves.ts';
import type { EnvironmentChange, EnvironmentRow, EventRow } from './environments.rows.ts';
import { changeEnvironment, lockLive } from './environments.sql.ts';
import { type EnvironmentState, environmentStatesTable } from './environments.states.ts';
import { toEnvironment } from './environments.view.ts';
import { budgetOf, checkHour } from './hours/hours.ts';
import { beginMeter, countTime } from './hours/hours.sql.ts';
import { deleteSecrets } from './secrets/secrets.sql.ts';
import { deleteOwnToken, deleteToken } from './secrets/tokens.sql.ts';

/** Who does something: an account by a key, a daemon, or svc itself. */
export interface Doer {
  /** Null: none. */
  accountId: string | null;
  kind: EventRow['actor_kind'];
  by: Who;
}

/** What a move did. */
interface Moved {
  row: EnvironmentRow;
  from: EnvironmentState;
  to: EnvironmentState;
}

/** Moves after which an environment's machine has nothing to serve. */
const endsMachine: ReadonlySet<EnvironmentMove> = new Set(['archive', 'fail', 'destroy']);

/** Moves after which nobody has to look at a failure or a stop any more. */
const endsTrouble: ReadonlySet<EnvironmentMove> = new Set(['report', 'start', 'destroy']);

/** A move as it is answered (document 3, Endpoints). */
export const toMoved = ({ row, from, to }: Moved) => ({ environment: toEnvironment(row), from, to });

/** Changes of environments: each writes its event in its own transaction, and a line of the audit log. */
export class Environments {
  readonly #kernel: Pick<Kernel, 'clock' | 'gateways' | 'config'> & Recorder;
  readonly #moved: ReturnType<Metrics['counter']>;
  readonly on: EnvironmentHooks;

  constructor(
    kernel: Pick<Kernel, 'clock' | 'gateways' | 'config' | 'metrics'> & Recorder,
    on: EnvironmentHooks = noHooks,
  ) {
    this.#kernel = kernel;
    this.on = on;
    this.#moved = kernel.metrics.counter('svc_environment_moves_total', 'Moves of environments', ['move']);
  }

  /** Moves a locked environment. Throws 409 `invalid_transition` when the table does not allow it. */
  async move<N extends EnvironmentMove>(
    tx: Db,
    row: EnvironmentRow,
    name: N,
    given: EnvironmentGiven<N>,
    doer: Doer,
  ): Promise<Moved> {
    const now = await readNow(tx, this.#kernel.clock);
    const change = moveOf(row, name, given, now);
    if (!change) throw new ApiError('invalid_transition', whyNot(row, name));
    if (row.for_account_id !== null && (name === 'start' || name === 'enroll'))
      await checkOnlyOne(tx, { ...row, for_account_id: row.for_account_id });
    if (name === 'start') await this.#checkStart(tx, now, row);
    const moved = await changeEnvironment(tx, now.iso, row.id, change);
    await this.#meter(tx, now, row, moved);
    if (endsMachine.has(name)) await endMachineKey(tx, this.#kernel, row.id);
    // It has served its machine.
    if (name === 'report') await deleteOwnToken(tx, row.id);
    const payload = given as Record<string, unknown>;
    await this.#write(tx, now, moved, doer, { kind: `state:${row.state}->${moved.state}`, payload });
    await writeAct(tx, {
      accountId: row.account_id,
      by: doer.by,
      action: `environments.${name}`,
      subject: row.id,
      details: { from: row.state, to: moved.state },
    });
    if (name === 'fail') await this.on.failed(tx, moved, { reason: moved.state_reason ?? '' });
    if (endsTrouble.has(name)) await this.on.over(tx, moved, { isGone: name === 'destroy' });
    this.#moved({ move: name });
    return { row: moved, from: row.state, to: moved.state };
  }

  /** Throws 409 `not_enrollable` for an environment whose state admits no machine. */
  checkEnrollable(row: EnvironmentRow, now: Instant): void {
    if (moveOf(row, 'enroll', { deviceId: row.id }, now)) return;
    throw new ApiError('not_enrollable', `an environment that is ${row.state} takes no machine`);
  }

  /** Destroys a locked environment, its secrets and its token. One without a machine at a provider is destroyed at once. */
  async destroy(tx: Db, row: EnvironmentRow, doer: Doer): Promise<Moved> {
    const { row: leaving, from } = await this.move(tx, row, 'destroy', {}, doer);
    await deleteSecrets(tx, row.id);
    await deleteToken(tx, row.id);
    await noteGone(tx, ['member', 'role', 'port', 'ssh_key'], `${row.id}/`);
    // Its provider takes the machine away first.
    if (row.provider !== 'byo' && (await mayHaveMachine(tx, row.id))) return { row: leaving, from, to: leaving.state };
    const gone = await this.move(tx, leaving, 'gone', {}, doer);
    return { ...gone, from };
  }

  /** Changes columns of a locked environment, and says so. */
  async change(
    tx: Db,
    row: EnvironmentRow,
    change: EnvironmentChange,
    doer: Doer,
    event: { kind: string; payload: Record<string, unknown> },
  ): Promise<EnvironmentRow> {
    const now = await readNow(tx, this.#kernel.clock);
    const changed = await changeEnvironment(tx, now.iso, row.id, change);
    await this.#tell(tx, now, changed, doer, event);
    return changed;
  }

  /** Writes what was done in a locked environment. */
  async tell(
    tx: Db,
    row: EnvironmentRow,
    doer: Doer,
    event: { kind: string; payload: Record<string, unknown> },
  ): Promise<void> {
    await this.#tell(tx, await readNow(tx, this.#kernel.clock), row, doer, event);
  }

  /** Throws 402 without an hour of balance, 409 when the budget of the month is used up. */
  async #checkStart(tx: Db, now: Instant, row: EnvironmentRow): Promise<void> {
    const { config } = this.#kernel;
    const { spent, budget } = await budgetOf(tx, config, now, row);
    if (budget !== null && spent >= budget)
      throw new ApiError(
        'invalid_transition',
        `its budget of ${budget} micro-euro is used up until the month ends (UTC)`,
      );
    await checkHour(tx, config, now, row);
  }

  /** Time of a machine at a provider counts while its environment runs. */
  async #meter(tx: Db, now: Instant, { state }: EnvironmentRow, moved: EnvironmentRow): Promise<void> {
    const { id: environmentId, account_id: accountId } = moved;
    if (moved.provider === 'byo' || moved.state === state) return;
    if (moved.state === 'running') await beginMeter(tx, now.iso, environmentId);
    if (state === 'running') await countTime(tx, now.iso, { environmentId, accountId, isOver: true });
  }

  async #tell(
    tx: Db,
    now: Instant,
    row: EnvironmentRow,
    doer: Doer,
    event: { kind: string; payload: Record<string, unknown> },
  ): Promise<void> {
    await this.#write(tx, now, row, doer, event);
    const action = `environments.${event.kind}`;
    await writeAct(tx, { accountId: row.account_id, by: doer.by, action, subject: row.id, details: event.payload });
  }

  async #write(
    tx: Db,
    now: Instant,
    row: EnvironmentRow,
    doer: Doer,
    event: { kind: string; payload: Record<string, unknown> },
  ): Promise<void> {
    await insertEvent(tx, {
      environment_id: row.id,
      actor_id: doer.accountId,
      actor_kind: doer.kind,
      ...event,
      created_at: now.iso,
    });
    await tellMembers(this.#kernel, tx, row, event, doer.kind === 'user' ? doer.accountId : null);
  }
}

/** Throws 409 when the developer has another live one in this project: one that comes back must not be a second. */
export async function checkOnlyOne(
  tx: Db,
  { id, project_id: projectId, for_account_id: accountId }: { id?: string; project_id: string; for_account_id: string },
): Promise<void> {
  const there = await lockLive(tx, projectId, accountId);
  if (there === undefined || there === id) return;
  const message = 'each developer has one live environment in this project; archive or destroy it first';
  throw new ApiError('already_has_env', message, { beside: { environment_id: there } });
}

function whyNot(row: EnvironmentRow, name: EnvironmentMove): string {
  const isOver = environmentStatesTable.isFinal(row.state);
  if (!isOver && row.provider === 'byo' && (name === 'start' || name === 'stop'))
    return `a machine of your own is not started or stopped from here; archive and destroy are what this environment takes`;
  return `an environment that is ${row.state} does not ${name}`;
}
