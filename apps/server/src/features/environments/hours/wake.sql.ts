import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/**
 * Of each project with a run that waits for a machine the environment that was used last, where it stands still and none of the
 * account runs or is on its way: one whose machine takes the run. A command has to be approved for it.
 */
export async function environmentsToWake(db: Db, time: Time): Promise<string[]> {
  const now = nowOf(db, time);
  const rows = await db<{ id: string }[]>`
    select distinct on (w.account_id, w.project_id) e.id
    from scheduler.cloud_vm_view w
    join environments.environments e on e.account_id = w.account_id and e.project_id = w.project_id
    join accounts.standing_view s on s.id = w.account_id and s.may_run
    where w.not_before <= ${now} and e.state = 'stopped' and e.provider <> 'byo' and not (e.device_id = any(w.refused_by))
      and (w.kind <> 'shell' or exists (
        select from schedules.approval_view a
        where a.schedule_id = w.schedule_id and a.device_id = e.device_id and a.command_hash = w.command_hash))
      and not exists (
        select from environments.daemons_view d
        where d.account_id = w.account_id and d.project_id = w.project_id
          and (d.is_coming or (d.is_there and (d.provider <> 'byo' or exists (
            select from scheduler.seen_view h
            where h.account_id = d.account_id and h.device_id = d.device_id and h.last_seen > ${now} - interval '45 s')))))
    order by w.account_id, w.project_id, e.last_activity_at desc nulls last, e.id`;
  return rows.map(({ id }) => id);
}
