import { instantOf } from '../../kernel/db/instant.ts';
import { columnsOf, type GivenOf, machine, partsOf, type RowMove } from '../../kernel/machine.ts';
import { deadlineOf, expecting, type MonitorState, type Signal, succeeded } from './heartbeats.rules.ts';
import { type MonitorStatus, monitorStates } from './heartbeats.states.ts';

type Row = MonitorState & { readonly state: MonitorStatus };
type Change = Partial<MonitorState>;

/** When a pause ends by itself; null: never. */
interface Pause {
  readonly until: number | null;
}

const { effect, guard, to } = partsOf<MonitorStatus, Row, Change>();

const fallen = effect<unknown, Row>('an outage more, down since now, no recovery owed', ({ outage }, _, now) => ({
  outage: outage + 1,
  downSince: now.ms,
  recoveryOwed: false,
}));
const unpaused = effect('no end of a pause', () => ({ pausedUntil: null }));
const unstarted = effect('no start', () => ({ startedAt: null, startRid: null }));
const ended = effect<Signal, Row>('last ping, exit code', ({ lastExitCode }, { exitCode }, now) => ({
  lastPingAt: now.ms,
  lastExitCode: exitCode ?? lastExitCode,
}));

const moves = {
  create: to('new', { from: [] }),
  expire: to('down', {
    from: ['new', 'up'],
    guards: [
      guard('its deadline is reached', (row, _, now) => {
        const deadline = deadlineOf(row);
        return deadline !== null && now.ms >= deadline;
      }),
    ],
    effects: [fallen, unstarted],
  }),
  fail: to<Signal>('down', { from: ['new', 'up'], effects: [ended, fallen, unstarted] }),
  succeed: to<Signal>('up', {
    from: monitorStates.names,
    effects: [
      ended,
      effect('last success now, no recovery owed', (_, __, now) => ({ lastSuccessAt: now.ms, recoveryOwed: false })),
      // The end of another run leaves a start that named its own waiting.
      effect<Signal, Row>('no start, unless it is that of another run', ({ startRid }, { rid }) =>
        rid === null || startRid === null || rid === startRid ? { startedAt: null, startRid: null } : {},
      ),
      unpaused,
    ],
  }),
  pause: to<Pause>('paused', {
    from: ['new', 'up', 'down'],
    effects: [
      unstarted,
      effect<Pause>('goes on at an instant, if one is given', (_, { until }) => ({ pausedUntil: until })),
      effect<unknown, Row>('its recovery is owed, if it was down', ({ recoveryOwed, state }) => ({
        recoveryOwed: recoveryOwed || state === 'down',
      })),
    ],
  }),
  rearm: to('new', {
    from: ['new', 'up'],
    effects: [unstarted, effect('armed now', (_, __, now) => ({ armedAt: now.ms }))],
  }),
  resume: to('new', {
    from: ['paused'],
    effects: [unstarted, effect('armed now', (_, __, now) => ({ armedAt: now.ms })), unpaused],
  }),
};

/** Every move of a monitor. Nothing else sets the state of one; README.md shows this table. */
export const monitors = machine({ table: 'heartbeats.monitors', states: monitorStates, moves });

type MonitorMove = Exclude<keyof typeof moves, 'create'>;
type Given<N extends MonitorMove> = GivenOf<(typeof moves)[N]>;

/** The monitor after a move at `now` (milliseconds), with what is expected of it next; undefined when the table refuses. */
export function moved<N extends MonitorMove>(
  name: N,
  before: MonitorState,
  given: Given<N>,
  now: number,
): MonitorState | undefined {
  const line = moves[name] as RowMove<MonitorStatus, Row, Given<N>, Change>;
  const change = columnsOf(line, { ...before, state: before.status }, given, instantOf(now));
  if (!change) return undefined;
  const { state: status, ...rest } = change;
  const after = { ...before, ...rest, status };
  if (name === 'succeed') return succeeded(after, now);
  return name === 'resume' || name === 'rearm' ? expecting(after) : after;
}
