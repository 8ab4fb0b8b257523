import type { Instant } from '../../kernel/db/instant.ts';
import { columnsOf, type GivenOf, machine, partsOf, type RowMove } from '../../kernel/machine.ts';
import type { EnvironmentChange, EnvironmentRow } from './environments.rows.ts';
import { type EnvironmentState, environmentStatesTable } from './environments.states.ts';

const e = partsOf<EnvironmentState, EnvironmentRow, EnvironmentChange>();
type Reason = { reason: string };

const managed = e.guard('its machine is at a provider', ({ provider }) => provider !== 'byo');
const because = e.effect<Reason>('why', (_, { reason }) => ({ state_reason: reason }));
const beingMade: ReadonlySet<EnvironmentState> = new Set(['creating', 'enrolling', 'starting']);
const noReason = e.effect('no reason', () => ({ state_reason: null }));

const moves = {
  create: e.to('pending', { from: [] }),
  make: e.to('creating', { from: [], guards: [managed] }),
  enroll: e.to<{ deviceId: string }>('enrolling', {
    from: ['pending', 'creating', 'enrolling', 'running', 'starting', 'archived'],
    guards: [
      e.guard<{ deviceId: string }>(
        'a machine of one’s own, or one that is being made',
        ({ provider, state }) => provider === 'byo' || beingMade.has(state),
      ),
    ],
    effects: [
      e.effect<{ deviceId: string }>('its device, no reason', (_, { deviceId }) => ({
        device_id: deviceId,
        state_reason: null,
      })),
    ],
  }),
  report: e.to('running', {
    from: ['enrolling', 'starting'],
    effects: [
      e.effect('it started, and was active, now', (_row, _given, now) => ({
        started_at: now.iso,
        last_activity_at: now.iso,
        state_reason: null,
      })),
    ],
  }),
  stop: e.to<Reason>('stopping', { from: ['running'], guards: [managed], effects: [because] }),
  stopped: e.to('stopped', {
    from: ['stopping'],
    effects: [e.effect('when it stopped', (_row, _given, now) => ({ stopped_at: now.iso }))],
  }),
  start: e.to('starting', { from: ['stopped', 'archived'], guards: [managed], effects: [noReason] }),
  archive: e.to('archived', { from: ['pending', 'enrolling', 'running', 'stopped'], effects: [noReason] }),
  fail: e.to<Reason>('failed', {
    from: ['pending', 'creating', 'enrolling', 'running', 'stopping', 'stopped', 'starting', 'destroying'],
    effects: [because],
  }),
  destroy: e.to('destroying', {
    from: ['pending', 'creating', 'enrolling', 'running', 'stopping', 'stopped', 'starting', 'archived', 'failed'],
    effects: [noReason],
  }),
  gone: e.to('destroyed', {
    from: ['destroying'],
    effects: [e.effect('when it was', (_row, _given, now) => ({ destroyed_at: now.iso }))],
  }),
};

/** Every move of an environment (document 3, States and transitions). README.md shows this table. */
export const environmentMachine = machine({
  table: 'environments.environments',
  states: environmentStatesTable,
  moves,
});

/** The first state of an environment: of a machine of one's own, and of one that a provider makes. */
export const firstState = { own: moves.create.outcomes[0].to, managed: moves.make.outcomes[0].to };

/** A move by its name. */
export type EnvironmentMove = Exclude<keyof typeof moves, 'create' | 'make'>;
/** What the move needs. */
export type EnvironmentGiven<N extends EnvironmentMove> = GivenOf<(typeof moves)[N]>;

/** The columns that a move changes in a locked environment; undefined when the table does not allow it. */
export const moveOf = <N extends EnvironmentMove>(
  row: EnvironmentRow,
  name: N,
  given: EnvironmentGiven<N>,
  now: Instant,
): (EnvironmentChange & { state: EnvironmentState }) | undefined =>
  columnsOf(
    moves[name] as RowMove<EnvironmentState, EnvironmentRow, EnvironmentGiven<N>, EnvironmentChange>,
    row,
    given,
    now,
  );
