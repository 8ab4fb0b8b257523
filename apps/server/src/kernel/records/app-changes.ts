import type { AppChangeKind } from '@svc/contract';
import type { Actor } from '../base/actor.ts';
import { ApiError } from '../base/errors.ts';
import type { Db } from '../db/db.ts';
import type { Who } from './audit.ts';
import { appOf } from './let-in.ts';

/** What an app changed, or a secret that it was shown. */
interface AppChange {
  kind: AppChangeKind;
  /** Ids, the widest first, with `/` between. */
  subject: string;
  /** For people: which monitor, webhook or environment. */
  name: string;
  /** What it was before, where that is put back. */
  before?: string | undefined;
}

/** A change that is undone, of an app that is disconnected. */
interface Undone {
  ids: readonly string[];
  before: string | undefined;
  /** Whose app it was. */
  accountId: string;
  by: Who;
}

/**
 * How a feature undoes changes, in the transaction that ends the connection; kinds without one are only named to the
 * person. False: there was nothing to undo any more.
 */
export type Undoes = Partial<Record<AppChangeKind, (tx: Db, change: Undone) => Promise<boolean>>>;

/** Which of these subjects are still there with what was changed; the others are noted, and told, no more. */
export type ChangesLeft = Partial<Record<AppChangeKind, (db: Db, subjects: readonly string[]) => Promise<string[]>>>;

/** What an app may have changed that was not changed again since. */
const mostOfApp = 300;
/** One for each monitor that it made, and these have a limit of their own. */
const unbounded = 'ping_url' satisfies AppChangeKind;

/**
 * Notes what the caller changes, in the transaction that does: of an app, until it is disconnected; what people change
 * by themselves is theirs, whoever did before. Throws 429 when the app changed 300 things.
 */
export async function noteChange(db: Db, actor: Actor, { kind, subject, name, before }: AppChange): Promise<void> {
  const connectionId = appOf(actor);
  if (connectionId === undefined) {
    await db`delete from kernel.app_changes where kind = ${kind} and subject = ${subject}`;
    return;
  }
  // What it was before the first change counts, whichever app made that: what one is shut out for does not come back
  // with another.
  const rows = await db`
    insert into kernel.app_changes (connection_id, kind, subject, account_id, name, before)
    select ${connectionId}, ${kind}, ${subject}, ${actor.accountId}, ${name.slice(0, 120)},
      case when exists (select from kernel.app_changes where kind = ${kind} and subject = ${subject})
        then (select o.before from kernel.app_changes o where o.kind = ${kind} and o.subject = ${subject}
          order by o.created_at limit 1)
        else ${before ?? null} end
    where ${kind === unbounded}::boolean
      or (select count(*) from kernel.app_changes
        where connection_id = ${connectionId} and kind <> ${unbounded}) < ${mostOfApp}
      or exists (
        select from kernel.app_changes where connection_id = ${connectionId} and kind = ${kind} and subject = ${subject})
    on conflict (connection_id, kind, subject) do update set name = excluded.name returning 1`;
  if (rows.length > 0) return;
  throw new ApiError('quota_exceeded', `this app changed ${mostOfApp} things; disconnect it, or change them yourself`);
}

/** Notes that the subject of changes is gone, or that they were overwritten: nothing of them is to be undone. */
export async function noteChangesGone(db: Db, kinds: readonly AppChangeKind[], subject: string): Promise<void> {
  await db`delete from kernel.app_changes where kind = any(${[...kinds]}::text[]) and subject = ${subject}`;
}

/** Subjects that are looked at in one question. */
const batch = 500;

/** Forgets changes whose subject is gone: of one connection, or of all. */
export async function forgetChanges(db: Db, left: readonly ChangesLeft[], connectionId?: string): Promise<void> {
  for (const of of left)
    for (const [kind, look] of Object.entries(of))
      for (let after = ''; ; ) {
        const rows = await db<{ subject: string }[]>`
          select distinct subject from kernel.app_changes where kind = ${kind} and subject > ${after}
            ${connectionId === undefined ? db`` : db`and connection_id = ${connectionId}`}
          order by subject limit ${batch}`;
        const subjects = rows.map(({ subject }) => subject);
        if (subjects.length === 0) break;
        const there = new Set(await look(db, subjects));
        const gone = subjects.filter((subject) => !there.has(subject));
        await db`delete from kernel.app_changes where kind = ${kind} and subject = any(${gone}::text[])`;
        after = subjects.at(-1) ?? '';
      }
}

/** A change as it is shown. */
interface ShownChange {
  kind: AppChangeKind;
  name: string;
  created_at: string;
}

const mostShown = 20;

/** What apps changed, by connection: the newest of each. */
export async function changesOf(db: Db, connectionIds: readonly string[]): Promise<Map<string, ShownChange[]>> {
  const rows = await db<(ShownChange & { connection_id: string })[]>`
    select connection_id, kind, name, created_at from (
      select c.*, row_number() over (partition by connection_id order by created_at desc, kind, subject) as place
      from kernel.app_changes c where connection_id = any(${[...connectionIds]}::uuid[])) numbered
    where place <= ${mostShown} order by place`;
  const found = new Map<string, ShownChange[]>();
  for (const { connection_id: id, ...shown } of rows) found.set(id, [...(found.get(id) ?? []), shown]);
  return found;
}

/** What becomes of a change: undone, or left to the person. */
export interface EndedChange {
  kind: AppChangeKind;
  name: string;
  isUndone: boolean;
}

/** Undoes what an app changed that is shut out, and answers all of it that was still so. */
export async function undoChanges(
  db: Db,
  connectionId: string,
  { by, undoes, left }: { by: Who; undoes: readonly Undoes[]; left: readonly ChangesLeft[] },
): Promise<EndedChange[]> {
  await forgetChanges(db, left, connectionId);
  const rows = await db<(AppChange & { account_id: string; before: string | null })[]>`
    select kind, subject, account_id, name, before from kernel.app_changes
    where connection_id = ${connectionId} order by subject, kind`;
  const ended: EndedChange[] = [];
  for (const { kind, subject, account_id: accountId, name, before } of rows) {
    const change = { ids: subject.split('/'), before: before ?? undefined, accountId, by };
    const of = undoes.flatMap((each) => each[kind] ?? []);
    let isUndone = false;
    for (const undo of of) isUndone = (await undo(db, change)) || isUndone;
    // What had ended by itself is nothing to tell.
    if (isUndone || of.length === 0) ended.push({ kind, name, isUndone });
  }
  await db`delete from kernel.app_changes where connection_id = ${connectionId}`;
  return ended;
}
