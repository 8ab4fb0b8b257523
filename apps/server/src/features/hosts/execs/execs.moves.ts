import type { Db } from '../../../kernel/db/db.ts';
import type { Instant } from '../../../kernel/db/instant.ts';
import { columnsOf, type GivenOf, machine, partsOf, type RowMove } from '../../../kernel/machine.ts';
import { changeExec, type ExecChange, type ExecRow } from './execs.sql.ts';
import { type ExecState, execStates } from './execs.states.ts';

const { effect, guard, move, to } = partsOf<ExecState, ExecRow, ExecChange>();

/** The error of a command that a person ended. */
export const byPerson = 'cancelled';

/** How a machine says that a command ended. */
interface Report {
  ok: boolean;
  /** JSON. */
  result: string | null;
  error: string | undefined;
  exitCode: number | null;
  truncated: boolean;
}

const over = effect('over now, its frame is forgotten', (_, __, now) => ({ finished_at: now.iso, frame: null }));
const why = effect<{ error: string }>('error: why', (_, { error }) => ({ error }));
const reported = effect<Report, ExecRow>('what its machine says', (row, given) => ({
  ok: given.ok,
  result: given.result,
  error: given.error ?? null,
  exit_code: given.exitCode,
  truncated: row.truncated || given.truncated,
}));

const moves = {
  create: to('waiting', { from: [] }),
  send: to<{ epoch: number }>('sent', {
    from: ['waiting'],
    effects: [
      effect<{ epoch: number }>('its stream, sent now', (_, { epoch }, now) => ({
        sent_epoch: epoch,
        sent_at: now.iso,
      })),
    ],
  }),
  start: to<{ tokenHash: Buffer }>('running', {
    from: ['sent'],
    guards: [
      guard('nobody ended it', (row) => row.cancel_asked_at === null),
      guard('its time is not over', (row, _, now) => Date.parse(row.expires_at) > now.ms),
    ],
    effects: [
      effect<{ tokenHash: Buffer }>('its token, started now, its frame is forgotten', (_, { tokenHash }, now) => ({
        token_hash: tokenHash,
        started_at: now.iso,
        frame: null,
      })),
    ],
  }),
  report: move<Report>({
    from: ['sent', 'running'],
    guards: [guard('it started, or its machine refused it', (row, { ok }) => row.state === 'running' || !ok)],
    outcomes: [
      {
        to: 'cancelled',
        when: guard(
          'its machine ended it because somebody asked',
          (row, { ok, error }) => row.cancel_asked_at !== null && !ok && error === byPerson,
        ),
        effects: [over, reported, effect<Report, ExecRow>('error: why it was ended', (row) => ({ error: row.error }))],
      },
      { to: 'done', effects: [over, reported] },
    ],
  }),
  lose: to<{ error: string }>('unknown', { from: ['running'], effects: [over, why] }),
  restore: to<{ error: string }>('unknown', { from: ['waiting', 'sent', 'running'], effects: [over, why] }),
  expire: to('expired', {
    from: execStates.where('unstarted'),
    guards: [guard('its time is over', (row, _, now) => Date.parse(row.expires_at) <= now.ms)],
    effects: [over, effect('error: it did not start in time', () => ({ error: 'it did not start in time' }))],
  }),
  cancel: move<{ error: string }>({
    from: ['waiting', 'sent', 'running'],
    outcomes: [
      {
        to: 'running',
        when: guard('it runs', (row) => row.state === 'running'),
        effects: [
          effect<{ error: string }, ExecRow>('its machine is asked to end it, once', (row, { error }, now) =>
            row.cancel_asked_at === null ? { cancel_asked_at: now.iso, error } : {},
          ),
        ],
      },
      { to: 'cancelled', effects: [over, why] },
    ],
  }),
};

/** Every move of a command that a machine does by itself. Nothing else sets its state; README.md shows this table. */
export const execs = machine({ table: 'hosts.execs', states: execStates, moves });

/** The state of a command that is given. */
export const firstState = moves.create.outcomes[0].to;

type Moves = typeof moves;
export type ExecMove = Exclude<keyof Moves, 'create'>;
/** The input of a move. */
export type ExecGiven<N extends ExecMove> = GivenOf<Moves[N]>;

/** Moves a locked command; undefined when the table has no such move from where it is. */
export async function moveExec<N extends ExecMove>(
  tx: Db,
  now: Instant,
  row: ExecRow,
  name: N,
  given: ExecGiven<N>,
): Promise<ExecRow | undefined> {
  const line = moves[name] as RowMove<ExecState, ExecRow, ExecGiven<N>, ExecChange>;
  const change = columnsOf(line, row, given, now);
  return change && changeExec(tx, row.id, change);
}
