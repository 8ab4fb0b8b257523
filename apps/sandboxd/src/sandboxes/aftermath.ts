import type { Context, Entry } from './context.ts';
import { serially } from './context.ts';
import { inTime, type Live } from './instances.ts';

/** The agent looks for five seconds, and its machine may be busy. */
const askMs = 60_000;

/**
 * Keeps what the agent tells some seconds after a restore: which processes of the snapshot ended since. Nobody waits for
 * it: the restore was answered by then.
 */
export function hearAftermath(context: Context, entry: Entry, live: Live): void {
  const { id } = entry.record;
  void hear(context, entry, live).catch((error: unknown) => context.log('aftermath of a restore', { id, err: error }));
}

async function hear(context: Context, entry: Entry, live: Live): Promise<void> {
  const { ended, error } = await inTime(live.client.ask({ kind: 'ended' }), askMs);
  // An agent of a version before knows nothing of it.
  if (error) return;
  const { id } = entry.record;
  if (ended.length > 0) context.log('processes ended right after a restore', { id, ended });
  await serially(entry, async () => {
    // A pause that began meanwhile keeps it; another restore has one of its own.
    const isSame = entry.live === live || entry.record.status === 'paused';
    if (context.entries.get(id) !== entry || !isSame) return;
    entry.record = { ...entry.record, ended };
    await context.records.save(entry.record);
  });
}
