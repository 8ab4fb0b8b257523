import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TurnAnswer, TurnRequest } from '@svc/sandboxd-api';

/** Installations whose turns are known; beyond them the one that was heard least recently is forgotten. */
const mostOwners = 64;
/** Processes of one installation that are known by name; beyond them the one that was heard least recently is not. */
const mostHolders = 32;
/** A jump of this many is a platform that took the node over: what was known of the one before counts for nothing. */
const takeover = 500_000;

/** The turns that platforms have told this node (`turnRequest`), kept on its disk. */
export interface Turns {
  /** Takes a turn that is above all of its installation before, or that a process tells which was heard before. */
  take(request: TurnRequest): Promise<TurnAnswer>;
  /** Whether a request that gives `turn` may destroy what an installation has here. */
  allows(owner: string, turn: string | undefined): boolean;
}

/** What is known of an installation. */
interface Heard {
  turn: number;
  /** Processes that told a turn which was taken: a database that lost its last commits does not make a copy of them. */
  holders: Set<string>;
}

/** Opens the turns of the node with its state in `dir`. A file that cannot be read (after a power cut) holds none. */
export async function openTurns(dir: string, log: (message: string, details?: object) => void): Promise<Turns> {
  const path = join(dir, 'turns.json');
  // In the order in which they were heard last.
  const heard = new Map<string, Heard>();
  for (const [owner, turn] of Object.entries(await readTurns(path, log)))
    heard.set(owner, { turn, holders: new Set() });
  const write = async (): Promise<void> => {
    const turns = Object.fromEntries([...heard].map(([owner, { turn }]) => [owner, turn]));
    await writeFile(`${path}.new`, JSON.stringify(turns), { mode: 0o600 });
    await rename(`${path}.new`, path);
  };
  let saved = Promise.resolve();
  // A full disk makes no sandbox unreachable: the next turn is written again.
  const save = (): Promise<void> =>
    (saved = saved.then(write).catch((err: unknown) => log('turns of platforms were not kept', { err })));
  return {
    async take({ owner, turn, holder }) {
      const known = heard.get(owner) ?? { turn: 0, holders: new Set<string>() };
      const isKnown = holder !== undefined && known.holders.has(holder);
      if (turn <= known.turn && !isKnown) return { accepted: false, heard: known.turn };
      if (turn - known.turn >= takeover) known.holders.clear();
      known.turn = Math.max(turn, known.turn + 1);
      if (holder !== undefined) {
        known.holders.delete(holder);
        dropOldest(known.holders.add(holder), mostHolders);
      }
      heard.delete(owner);
      dropOldest(heard.set(owner, known), mostOwners);
      await save();
      return { accepted: true, heard: known.turn };
    },
    allows(owner, turn) {
      const last = heard.get(owner)?.turn;
      return last === undefined || (/^\d{1,15}$/.test(turn ?? '') && Number(turn) >= 1 && Number(turn) <= last);
    },
  };
}

function dropOldest(all: Map<string, unknown> | Set<string>, most: number): void {
  for (const oldest of all.keys()) if (all.size > most) all.delete(oldest);
}

async function readTurns(path: string, log: (message: string, details?: object) => void) {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, number>;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') log('turns of platforms were not read', { err });
    return {};
  }
}
