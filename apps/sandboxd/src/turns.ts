import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TurnAnswer, TurnRequest } from '@svc/sandboxd-api';

/** Installations whose turns are known; beyond them the one that was heard least recently is forgotten. */
const mostOwners = 64;

/** The turns that platforms have told this node (`turnRequest`), kept on its disk. */
export interface Turns {
  /** Takes a turn that is above all of its installation before, and no other one. */
  take(request: TurnRequest): Promise<TurnAnswer>;
  /** Whether a request that gives `turn` may destroy what an installation has here. */
  allows(owner: string, turn: string | undefined): boolean;
}

/** Opens the turns of the node whose state is in `dir`. Throws for a file that is not one of ours: it is not guessed at. */
export async function openTurns(dir: string): Promise<Turns> {
  const path = join(dir, 'turns.json');
  const text = await readFile(path, 'utf8').catch(() => '{}');
  // In the order in which they were heard last.
  const heard = new Map(Object.entries(JSON.parse(text) as Record<string, number>));
  let saved = Promise.resolve();
  const save = async (): Promise<void> => {
    await writeFile(`${path}.new`, JSON.stringify(Object.fromEntries(heard)), { mode: 0o600 });
    await rename(`${path}.new`, path);
  };
  return {
    async take({ owner, turn }) {
      const last = heard.get(owner) ?? 0;
      if (turn <= last) return { accepted: false, heard: last };
      heard.delete(owner);
      heard.set(owner, turn);
      for (const oldest of heard.keys()) if (heard.size > mostOwners) heard.delete(oldest);
      // One after another; without a flush: after a power cut the platform's database is ahead, and its next turn counts.
      saved = saved.then(save, save);
      await saved;
      return { accepted: true, heard: turn };
    },
    allows(owner, turn) {
      const last = heard.get(owner);
      return last === undefined || (/^\d{1,15}$/.test(turn ?? '') && Number(turn) >= 1 && Number(turn) <= last);
    },
  };
}
