import { plus, readNow } from '../../../kernel/db/instant.ts';
import type { JobDefinition } from '../../../kernel/feature.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../../kernel/work/loop.ts';
import type { Execs } from './execs.ts';
import { deleteOldExecs, listEnding } from './execs.sql.ts';

/** A command outlives its time, its key and its account's standing by not much more. */
const lookEveryMs = 2_000;
const mostAtOnce = 200;

/** Ends commands that time, a key or an account ends, until it is stopped. */
export function endCommands(kernel: Kernel, execs: Execs): Loop {
  const { background, clock, log } = kernel;
  return startLoop(kernel, {
    name: 'hosts.ending',
    everyMs: lookEveryMs,
    async work() {
      const ending = await listEnding(background, clock, mostAtOnce);
      let ended = 0;
      for (const one of ending) {
        const failed = (err: unknown) => log.error({ err, exec: one.id }, 'a command was not ended; it is tried again');
        await execs.end(one).then(() => (ended += 1), failed);
      }
      return ended === mostAtOnce ? 0 : undefined;
    },
  });
}

const keptMs = 30 * 86_400_000;
const deletedAtOnce = 100;

/** Every hour: forgets commands that are 30 days old, with their output. */
export const sweepExecs: JobDefinition = {
  name: 'hosts.sweepExecs',
  cron: '7 * * * *',
  async run({ background, clock }) {
    const before = plus(await readNow(background, clock), -keptMs).iso;
    while ((await deleteOldExecs(background, before, deletedAtOnce)) === deletedAtOnce);
  },
};
