import type { EnvironmentState } from '../environments/index.ts';
import type { CloudMachine } from './clouds.driver.ts';

/** What an environment's state asks of its provider: a machine that runs, one that stands still, or none. */
const wants: Readonly<Record<EnvironmentState, 'on' | 'off' | 'none'>> = {
  pending: 'none',
  creating: 'on',
  enrolling: 'on',
  running: 'on',
  starting: 'on',
  stopping: 'off',
  stopped: 'off',
  // An archived machine costs nothing: it is made anew when the environment is started.
  archived: 'none',
  // What somebody worked on stays, and costs its disk alone, until they destroy it.
  failed: 'off',
  destroying: 'none',
  destroyed: 'none',
};

/** What is known of a machine when it is looked at. Instants are milliseconds since the epoch. */
interface Look {
  /** Undefined: the environment is gone, with its account or for good. */
  state: EnvironmentState | undefined;
  /** Since when it is in this state. */
  stateSince: number;
  /** Somebody has worked on it. */
  hasRun: boolean;
  /** A machine may be there since then; undefined: none was asked for. */
  askedAt: number | undefined;
  /** The provider told its id. */
  isKnown: boolean;
  /** What the provider says now; undefined: it has none. */
  seen: CloudMachine | undefined;
  /** Since when it says so. */
  seenSince: number;
  now: number;
}

/** What to do about a machine. */
export type MachineStep =
  | { do: 'create' | 'start' | 'stop' | 'force' | 'delete' }
  | { do: 'tell'; move: 'stopped' }
  | { do: 'tell'; move: 'stop' | 'fail'; reason: string }
  /** There is none, as there should be none. */
  | { do: 'over' }
  /** Something is under way. */
  | { do: 'wait' }
  /** All is as it should be. */
  | { do: 'rest' };

const minuteMs = 60_000;
/** A list of machines may lag behind what was made, and a creation whose answer was lost may still come. */
const lagMs = 5 * minuteMs;
/** A machine that does not shut down is switched off. */
const politeMs = 2 * minuteMs;
const bootMs = 30 * minuteMs;
const makingMs = 60 * minuteMs;

const tell = (move: 'stop' | 'fail', reason: string): MachineStep => ({ do: 'tell', move, reason });

/** Compares what an environment asks for with what its provider has. */
export function decide(look: Look): MachineStep {
  const { state, hasRun } = look;
  if (state === undefined || (state === 'failed' && !hasRun)) return without(look);
  if (wants[state] === 'on') return running(look);
  return wants[state] === 'off' ? still(look) : without(look);
}

function running(look: Look): MachineStep {
  const { state, isKnown, seen } = look;
  if (!seen || seen.status === 'leaving') {
    if (state === 'running' || isKnown) return missing(look);
    // The one before it has to be gone first.
    return { do: seen ? 'wait' : 'create' };
  }
  if (seen.status === 'off')
    return state === 'running' ? tell('stop', 'the machine was switched off from inside') : { do: 'start' };
  if (state === 'running') return { do: 'rest' };
  const forMs = look.now - Math.max(look.stateSince, look.seenSince);
  if (seen.status === 'on' && forMs > bootMs)
    return tell('fail', 'its machine runs, and its daemon has not reported within 30 minutes');
  if (seen.status === 'making' && forMs > makingMs) return tell('fail', 'its machine did not come up within an hour');
  return { do: 'wait' };
}

function still(look: Look): MachineStep {
  const { state, seen } = look;
  if (!seen || seen.status === 'leaving') return state === 'failed' ? { do: 'rest' } : missing(look);
  if (seen.status === 'off') return state === 'stopping' ? { do: 'tell', move: 'stopped' } : { do: 'rest' };
  const isPatient = look.now - look.stateSince < politeMs;
  return { do: isPatient ? 'stop' : 'force' };
}

const missing = ({ now, seenSince }: Look): MachineStep =>
  now - seenSince > lagMs ? tell('fail', 'its machine is gone at the provider') : { do: 'wait' };

function without({ seen, askedAt, isKnown, now }: Look): MachineStep {
  if (seen) return seen.status === 'leaving' ? { do: 'wait' } : { do: 'delete' };
  const mayCome = askedAt !== undefined && !isKnown && now - askedAt < lagMs;
  return { do: mayCome ? 'wait' : 'over' };
}
