import type { Db } from '../../kernel/db/db.ts';
import { fragmentOf, leastId } from '../../kernel/db/statement.ts';
import type { Outcome } from './prompts.sql.ts';
import { type LaunchState, launchStates } from './prompts.states.ts';

/** A launch of a prompt as it is stored. */
export interface LaunchRow {
  id: string;
  prompt_id: string;
  account_id: string;
  session_id: string;
  control_id: string;
  /** Null: the next desktop or Android device of the account takes it. */
  device_id: string | null;
  /** Nobody named its device: one that listens may have it in its place. */
  moves_on: boolean;
  key_id: string | null;
  state: LaunchState;
  turn_id: string | null;
  outcome: Outcome | null;
  created_at: string;
  taken_at: string | null;
  begun_at: string | null;
  ended_at: string | null;
}

/** Columns that change. */
export type LaunchChange = Partial<
  Pick<LaunchRow, 'device_id' | 'state' | 'turn_id' | 'outcome' | 'taken_at' | 'begun_at' | 'ended_at'>
>;

const columns = (db: Db) => db`
  id, prompt_id, account_id, session_id, control_id, device_id, moves_on, key_id, state, turn_id, outcome, created_at, taken_at,
  begun_at, ended_at`;

/** Launches that are kept of a prompt once they are over. */
const mostKept = 20;

/** A launch that is to be stored. */
type NewLaunch = Pick<
  LaunchRow,
  'prompt_id' | 'account_id' | 'session_id' | 'control_id' | 'device_id' | 'moves_on' | 'key_id' | 'state'
>;

/** Stores a launch; of the prompt's older ones that are over the newest stay. */
export async function insertLaunch(db: Db, now: string, run: NewLaunch): Promise<void> {
  await db`
    insert into prompts.runs (prompt_id, account_id, session_id, control_id, device_id, moves_on, key_id, state, created_at)
    values (${run.prompt_id}, ${run.account_id}, ${run.session_id}, ${run.control_id}, ${run.device_id}, ${run.moves_on},
      ${run.key_id}, ${run.state}, ${now})`;
  await db`
    delete from prompts.runs where prompt_id = ${run.prompt_id} and ended_at is not null and order_no <= (
      select order_no from prompts.runs where prompt_id = ${run.prompt_id} order by order_no desc offset ${mostKept} limit 1)`;
}

/** Launches of a prompt that are not over, newest first. */
export async function listLive(db: Db, promptId: string): Promise<LaunchRow[]> {
  return db<LaunchRow[]>`
    select ${columns(db)} from prompts.runs where prompt_id = ${promptId} and ended_at is null order by order_no desc`;
}

/** So the index of launches by key is read, not all launches. */
const hasKey = fragmentOf(`r.key_id >= ${leastId}`);

/** Prompts with launches under way whose key has ended. */
export async function listKeyless(db: Db, limit: number): Promise<{ account_id: string; prompt_id: string }[]> {
  return db`
    select distinct account_id, prompt_id from prompts.runs r
    where ended_at is null and stop_asked_at is null and ${hasKey(db)}
      and not exists (select 1 from keys.usable_view k where k.id = r.key_id)
    limit ${limit}`;
}

/** Prompts of launches that no device took since an instant, and whose account was not told. */
export async function listUntaken(
  db: Db,
  before: string,
  limit: number,
): Promise<{ account_id: string; prompt_id: string; session_id: string }[]> {
  return db`
    select account_id, prompt_id, session_id from prompts.runs
    where ended_at is null and waiting_told_at is null and created_at <= ${before} and state = 'waiting'
    order by created_at limit ${limit}`;
}

/** Notes that the account was told that a launch waits; false when it was before. */
export async function noteWaitTold(db: Db, now: string, id: string): Promise<boolean> {
  const rows = await db`
    update prompts.runs set waiting_told_at = ${now} where id = ${id} and waiting_told_at is null returning 1`;
  return rows.length > 0;
}

/** Notes that the launches of a prompt that still run were asked to end. */
export async function noteStopAsked(db: Db, now: string, promptId: string): Promise<void> {
  await db`update prompts.runs set stop_asked_at = ${now} where prompt_id = ${promptId} and ended_at is null`;
}

/** The launch that opened a session. */
export async function findBySession(db: Db, accountId: string, sessionId: string): Promise<LaunchRow | undefined> {
  const [row] = await db<LaunchRow[]>`
    select ${columns(db)} from prompts.runs where session_id = ${sessionId} and account_id = ${accountId}`;
  return row;
}

/** The first launches that did not begin, locked. */
export async function lockUnbegun(db: Db, most: number): Promise<LaunchRow[]> {
  return db<LaunchRow[]>`
    select ${columns(db)} from prompts.runs where ended_at is null and state in ${launchStates.sql('unbegun')(db)}
    order by order_no limit ${most} for update`;
}

/** The launch of a session or of a control, locked until the transaction ends. */
export async function lockLaunch(
  db: Db,
  by: { sessionId: string } | { controlId: string },
): Promise<LaunchRow | undefined> {
  const [row] = await db<LaunchRow[]>`
    select ${columns(db)} from prompts.runs
    where ${'sessionId' in by ? db`session_id = ${by.sessionId}` : db`control_id = ${by.controlId}`} for update`;
  return row;
}

/** Writes columns of a locked launch. */
export async function changeLaunch(db: Db, id: string, change: LaunchChange): Promise<LaunchRow> {
  const [row] = await db<LaunchRow[]>`
    update prompts.runs set ${db(change as never)} where id = ${id} returning ${columns(db)}`;
  return row as LaunchRow;
}
