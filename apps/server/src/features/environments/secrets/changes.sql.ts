import type { Db } from '../../../kernel/db/db.ts';
import type { ChangesLeft } from '../../../kernel/records/app-changes.ts';

const idOf = (subject: string): string => subject.split('/')[0] ?? '';

/** Subjects whose environment is there. */
async function inLive(db: Db, subjects: readonly string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from environments.environments
    where id = any(${[...new Set(subjects.map(idOf))]}::uuid[]) and state <> 'destroyed'`;
  const live = new Set(rows.map(({ id }) => id));
  return subjects.filter((subject) => live.has(idOf(subject)));
}

/** Which changes of apps in environments are of something that is there: a port that is published again is not removed. */
export const environmentChangesLeft: ChangesLeft = {
  environment_name: inLive,
  async environment_secret(db, subjects) {
    const rows = await db<{ subject: string }[]>`
      select given.subject from unnest(${[...subjects]}::text[]) given(subject)
      join environments.secrets s on s.environment_id = split_part(given.subject, '/', 1)::uuid
        and s.name = split_part(given.subject, '/', 2)`;
    return rows.map(({ subject }) => subject);
  },
  async port_removed(db, subjects) {
    const rows = await db<{ subject: string }[]>`
      select given.subject from unnest(${[...subjects]}::text[]) given(subject)
      where not exists (select from environments.ports p
        where p.environment_id = split_part(given.subject, '/', 1)::uuid
          and p.port = split_part(given.subject, '/', 2)::int)`;
    return inLive(
      db,
      rows.map(({ subject }) => subject),
    );
  },
};
