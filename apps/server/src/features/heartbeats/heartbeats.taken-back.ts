import { writeAct } from '../../kernel/records/audit.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { readNow } from '../../kernel/db/instant.ts';
import type { ChangesLeft, Undoes } from '../../kernel/records/app-changes.ts';
import type { TakesBack } from '../../kernel/records/let-in.ts';
import { monitorChange } from './heartbeats.changes.ts';
import { deleteBadge, deletePingKey } from './heartbeats.keys.sql.ts';
import { existingMonitors, lockMonitor, replaceToken, stateOf, updateTerms } from './heartbeats.sql.ts';
import { hashToken, newToken } from './heartbeats.token.ts';

/** Takes back the ping key and the badges that an app made. */
export const heartbeatsTakeBack: TakesBack = {
  async ping_key(tx, { accountId, by }) {
    if (await deletePingKey(tx, accountId)) await writeAct(tx, { accountId, by, action: 'heartbeats.removePingKey' });
  },
  async badge(tx, { ids: [id = ''], accountId, by }) {
    const monitorId = id === accountId ? null : id;
    if (!(await deleteBadge(tx, { accountId, monitorId }))) return;
    const action = monitorId === null ? 'heartbeats.removeAccountBadge' : 'heartbeats.removeBadge';
    await writeAct(tx, { accountId, by, action, subject: monitorId ?? undefined });
  },
};

/**
 * Ends silences that an app asked for, as far as they were not there before, and makes addresses anew that it was
 * shown.
 */
export const heartbeatsUndo = (kernel: Pick<Kernel, 'clock' | 'keyring' | 'feed'>): Undoes => ({
  async mute(tx, { ids: [id = ''], accountId, before }) {
    const { clock } = kernel;
    const row = await lockMonitor(tx, clock, accountId, id);
    const { ms, iso } = await readNow(tx, clock);
    const isLive = (until: string | null | undefined): boolean => until != null && Date.parse(until) > ms;
    // Over by itself, and there is none of before to put back; an app may have lifted one.
    if (!row || (!isLive(row.muted_until) && !isLive(before))) return false;
    const state = stateOf(row);
    // Not null: whoever is down is told again when a silence is over.
    const mutedUntil = before ?? iso;
    const { slug, tags } = row;
    const changed = await updateTerms(tx, clock, id, { ...state, name: undefined, slug, mutedUntil, tags });
    await kernel.feed.record(tx, [monitorChange('updated', changed, state)]);
    return true;
  },
  async ping_url(tx, { ids: [id = ''], accountId, by }) {
    const tokenHash = hashToken(kernel.keyring, newToken()) as Buffer;
    if ((await replaceToken(tx, kernel.clock, { accountId, id, tokenHash })) === undefined) return false;
    await writeAct(tx, { accountId, by, action: 'heartbeats.rotate', subject: id });
    return true;
  },
});

/** Which changes of apps are of a monitor that is there. */
export const heartbeatsChangesLeft: ChangesLeft = {
  ping_url: existingMonitors,
  mute: existingMonitors,
  pause: existingMonitors,
  monitor_times: existingMonitors,
};
