import { type Context, type Entry, stop } from './context.ts';

/** How often workspaces are looked at; after a round that took long, less often. */
const lookMs = 10_000;
const restFactor = 3;

/**
 * For workspaces that no file system limits: what a command left in the background may fill the disk while nobody looks.
 * A sandbox whose workspace is over at one look, and larger at a later one, is stopped with the reason `disk`; one that
 * its command left too large, and that stays so, is for the next command to clear. Answers how to end the watch.
 */
export function watchGrowth(context: Context, everyMs = lookMs): () => void {
  const { workspaces, entries } = context;
  /** Of those that are over: whether they grew since that was seen. */
  const over = new WeakMap<Entry, () => Promise<boolean>>();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async (entry: Entry): Promise<void> => {
    const { instance } = entry.record;
    const outgrown = over.get(entry);
    if (outgrown && (await outgrown())) await stop(context, entry, 'disk');
    else if (!(await workspaces.isTooLarge(instance, Number.POSITIVE_INFINITY))) over.delete(entry);
    else if (!outgrown) over.set(entry, workspaces.watch(instance));
  };
  const round = async (): Promise<void> => {
    const began = performance.now();
    for (const entry of [...entries.values()].filter(({ live }) => live !== undefined)) {
      if (isOver) return;
      const { id } = entry.record;
      await look(entry).catch((error: unknown) => context.log('size of a workspace', { id, err: error }));
    }
    if (!isOver) wait(everyMs + restFactor * (performance.now() - began));
  };
  const wait = (ms: number): void => {
    timer = setTimeout(() => void round(), ms);
  };
  wait(everyMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
