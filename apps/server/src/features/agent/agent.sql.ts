import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';

/** Of an account; beyond these the ones that were used longest ago are forgotten, and their sandboxes end by themselves. */
const mostSessions = 1_000;

/** Which sandbox the requests of a session share. */
export interface Session {
  sandbox_id: string;
  /** Files handed out of it: SHA-256 by path. */
  handed: Record<string, string>;
}

/** The sandbox of a session; it may have ended. */
export async function findSession(db: Db, accountId: string, name: string): Promise<Session | undefined> {
  const [row] = await db<Session[]>`
    select sandbox_id, handed from agent.sessions where account_id = ${accountId} and name = ${name}`;
  return row;
}

/**
 * Makes a sandbox that of the session for so long, unless it has another one than `seen` by now; answers which it is. What
 * was handed out of the one before is forgotten.
 */
export async function saveSession(
  db: Db,
  time: Time,
  { accountId, name, sandboxId, seen }: { accountId: string; name: string; sandboxId: string; seen?: string },
  seconds: number,
): Promise<string> {
  const until = db`${nowOf(db, time)} + make_interval(secs => ${seconds})`;
  const [row] = await db<{ sandbox_id: string; is_new: boolean }[]>`
    insert into agent.sessions as s (account_id, name, sandbox_id, expires_at)
    values (${accountId}, ${name}, ${sandboxId}, ${until})
    on conflict (account_id, name) do update set expires_at = excluded.expires_at,
      sandbox_id = case when s.sandbox_id = ${seen ?? null}::uuid then excluded.sandbox_id else s.sandbox_id end,
      handed = case when s.sandbox_id = ${seen ?? null}::uuid and s.sandbox_id <> excluded.sandbox_id
        then '{}' else s.handed end
    returning sandbox_id, xmax = 0 as is_new`;
  if (row?.is_new) {
    await db`
      delete from agent.sessions where account_id = ${accountId} and name in (select name from agent.sessions
        where account_id = ${accountId} order by expires_at desc, name offset ${mostSessions})`;
  }
  return row?.sandbox_id ?? sandboxId;
}

/** Keeps what was handed out in a session. */
export async function saveHanded(
  db: Db,
  accountId: string,
  name: string,
  handed: Record<string, string>,
): Promise<void> {
  await db`
    update agent.sessions set handed = ${JSON.stringify(handed)}::text::jsonb
    where account_id = ${accountId} and name = ${name}`;
}

/** Forgets sessions whose sandbox is gone for its age. */
export async function deleteOldSessions(db: Db, time: Time): Promise<void> {
  await db`delete from agent.sessions where expires_at < ${nowOf(db, time)}`;
}
