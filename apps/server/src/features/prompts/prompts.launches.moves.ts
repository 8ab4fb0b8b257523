import type { Db } from '../../kernel/db/db.ts';
import type { Instant } from '../../kernel/db/instant.ts';
import { columnsOf, type GivenOf, machine, partsOf, type RowMove } from '../../kernel/machine.ts';
import { changeLaunch, type LaunchChange, type LaunchRow } from './prompts.launches.sql.ts';
import type { Outcome } from './prompts.sql.ts';
import { type LaunchState, launchStates } from './prompts.states.ts';

const { effect, to } = partsOf<LaunchState, LaunchRow, LaunchChange>();
const unbegun = launchStates.where('unbegun');
const live = launchStates.where('live');

const ended = effect('ended now', (_, __, now) => ({ ended_at: now.iso }));
const came = effect<{ outcome: Outcome | null }>('outcome', (_, { outcome }) => ({ outcome }));
const itsDevice = effect<{ deviceId: string | null }>('its device', (_, { deviceId }) => ({ device_id: deviceId }));

/** A turn may be told after its launch was withdrawn: the session knows which came first, so it counts. */
const moves = {
  create: to('waiting', { from: [] }),
  adopt: to('waiting', { from: ['waiting'], effects: [itsDevice] }),
  take: to('taken', {
    from: ['waiting'],
    effects: [itsDevice, effect('taken now', (_, __, now) => ({ taken_at: now.iso }))],
  }),
  begin: to<{ turnId: string; deviceId: string }>('running', {
    from: [...unbegun, 'withdrawn'],
    effects: [
      itsDevice,
      effect<{ turnId: string }>('its turn, begun now', (_, { turnId }, now) => ({
        turn_id: turnId,
        begun_at: now.iso,
        ended_at: null,
      })),
    ],
  }),
  finish: to<{ outcome: Outcome | null }>('finished', { from: live, effects: [came, ended] }),
  fail: to<{ outcome: Outcome | null }>('failed', { from: live, effects: [came, ended] }),
  withdraw: to('withdrawn', { from: unbegun, effects: [ended, effect('no outcome', () => ({ outcome: null }))] }),
};

/** Every move of a launch. Nothing else sets its state; README.md shows this table. */
export const launches = machine({ table: 'prompts.runs', states: launchStates, moves });

/** The state of a launch that is created. */
export const firstLaunchState = moves.create.outcomes[0].to;

type Moves = typeof moves;
export type LaunchMove = Exclude<keyof Moves, 'create'>;
/** The input of a move of a launch. */
export type LaunchGiven<N extends LaunchMove> = GivenOf<Moves[N]>;

/** Moves a locked launch; undefined when the table has no such move from where it is. */
export async function moveLaunch<N extends LaunchMove>(
  tx: Db,
  now: Instant,
  launch: LaunchRow,
  name: N,
  given: LaunchGiven<N>,
): Promise<LaunchRow | undefined> {
  const line = moves[name] as RowMove<LaunchState, LaunchRow, LaunchGiven<N>, LaunchChange>;
  const change = columnsOf(line, launch, given, now);
  return change && changeLaunch(tx, launch.id, change);
}
