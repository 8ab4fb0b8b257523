import type { Restored } from '../../kernel/restored.ts';
import { type Advance, advanceSchedules, lockDue } from './schedules.due.sql.ts';
import { planTick } from './schedules.rules.ts';

const atOnce = 500;

/**
 * Passes the slots of the time that was lost: their runs may have been made. As in a pause, the last of each is kept as
 * missed, and the next one comes at its time.
 */
export const schedulesRestored: Restored = async ({ db, now }) => {
  const passed = new Set<string>();
  for (;;) {
    const due = await lockDue(db, now.iso, atOnce, {});
    if (due.length === 0) return { 'schedules with slots since the backup, passed over': passed.size };
    const advances = due.map((row): Advance => {
      const { slots, missed } = planTick({ ...row, paused_at: new Date(0).toISOString(), paused_until: null }, now.ms);
      return { id: row.id, past: row.past.length, slots, missed_slot: missed ?? null };
    });
    await advanceSchedules(db, advances);
    for (const { id } of due) passed.add(id);
  }
};
