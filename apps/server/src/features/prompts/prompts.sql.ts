import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import type { LaunchState, PromptState } from './prompts.states.ts';

/** The outcome of a turn, as its client reports it. */
export interface Outcome {
  ok: boolean;
  exit_code?: number | undefined;
  error?: string | undefined;
}

/** A model's report. */
export interface Report {
  verdict: 'done' | 'partial' | 'not_started';
  summary: string;
  changed: string;
  remaining: string;
}

/** A turn that carries a prompt. `ref` is text: a client may report turns of a log that is no session here (`match_ref`). */
export interface MatchedTurn {
  ref: string;
  turnId: string;
}

/** A prompt as it is stored. */
export interface PromptRow {
  id: string;
  order_no: number;
  account_id: string;
  prompt: string;
  text_hash: Buffer;
  source: string;
  goal_key: string | null;
  not_before: string | null;
  auto_run: boolean;
  /** The key that said last how it launches. */
  key_id: string | null;
  target_device_id: string | null;
  state: PromptState;
  armed_at: string | null;
  reminds: boolean;
  match_ref: string | null;
  match_turn_id: string | null;
  run_session_id: string | null;
  /** Its newest launch, as far as it is a reason to wait. */
  run: { state: LaunchState; device: string | null } | null;
  last_turn: Outcome | null;
  report: Report | null;
  superseded_by: string | null;
  created_at: string;
  updated_at: string;
  launched_at: string | null;
  sent_at: string | null;
  answered_at: string | null;
  verified_at: string | null;
}

/** Columns that change. */
export type PromptChange = Partial<Omit<PromptRow, 'id' | 'order_no' | 'account_id' | 'prompt' | 'text_hash' | 'run'>>;

const columns = (db: Db) => db`
  id, order_no, account_id, prompt, text_hash, source, goal_key, not_before, auto_run, key_id, target_device_id, state, armed_at,
  reminds, match_ref, match_turn_id, run_session_id, last_turn, report, superseded_by, created_at, updated_at, launched_at,
  sent_at, answered_at, verified_at, (
    select json_build_object('state', r.state, 'device', r.device_id) from prompts.runs r where r.prompt_id = prompts.id
    order by r.order_no desc limit 1
  ) as run`;

/** Limit of the prompts of an account. */
export const promptsQuota: Quota = {
  name: 'prompts',
  remedy: 'delete some that are done',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from prompts.prompts where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Limit of the texts of an account's prompts. */
export const promptBytesQuota: Quota = {
  name: 'prompt_bytes',
  what: 'bytes of prompts',
  remedy: 'delete some that are done',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select coalesce(sum(bytes), 0)::bigint as n from prompts.prompts where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** A prompt that is to be stored. */
interface NewPrompt {
  accountId: string;
  prompt: string;
  textHash: Buffer;
  prefixHash: Buffer | null;
  source: string;
  goalKey: string | null;
  notBefore: string | null;
  autoRun: boolean;
  keyId: string;
  target: string | null;
  state: PromptState;
  armedAt: string | null;
  reminds: boolean;
}

/** Stores a prompt; undefined when the account has one of the same text. */
export async function insertPrompt(db: Db, now: string, given: NewPrompt): Promise<PromptRow | undefined> {
  const [row] = await db<PromptRow[]>`
    insert into prompts.prompts (account_id, prompt, bytes, text_hash, prefix_hash, source, goal_key, not_before, auto_run, key_id,
      target_device_id, state, armed_at, reminds, created_at, updated_at)
    values (${given.accountId}, ${given.prompt}, ${Buffer.byteLength(given.prompt)}, ${given.textHash},
      ${given.prefixHash}, ${given.source}, ${given.goalKey}, ${given.notBefore}, ${given.autoRun}, ${given.keyId}, ${given.target},
      ${given.state}, ${given.armedAt}, ${given.reminds}, ${now}, ${now})
    on conflict (account_id, text_hash) do nothing returning ${columns(db)}`;
  return row;
}

/** The account's prompt of this text. */
export async function findByText(db: Db, accountId: string, textHash: Buffer): Promise<PromptRow | undefined> {
  const [row] = await db<PromptRow[]>`
    select ${columns(db)} from prompts.prompts where account_id = ${accountId} and text_hash = ${textHash}`;
  return row;
}

/** Holds until the transaction ends: two prompts of one goal come one after the other. */
export async function lockGoal(db: Db, accountId: string, goalKey: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`prompts.goal:${accountId}:${goalKey}`}, 0))`;
}

/** Older prompts of a goal, locked. */
export async function lockOlderOfGoal(db: Db, newer: PromptRow): Promise<PromptRow[]> {
  return db<PromptRow[]>`
    select ${columns(db)} from prompts.prompts
    where account_id = ${newer.account_id} and goal_key = ${newer.goal_key} and id <> ${newer.id}
      and state = 'open' order by id for update`;
}

/** Which prompts are listed. */
export interface PromptFilter {
  /** Unset: all. */
  states?: readonly PromptState[];
  /** Only those whose instant has passed. */
  due?: boolean;
}

/** Bytes of texts on one page. */
const mostPageBytes = 4 * 1024 * 1024;

/** Prompts of an account, newest first; `more` of the first row tells whether the bytes of a page cut it. */
export async function listPrompts(
  db: Db,
  time: Time,
  accountId: string,
  page: PageQuery,
  { states, due = false }: PromptFilter,
): Promise<(PromptRow & PagedRow & { is_cut: boolean })[]> {
  const rows = db`
    select ${columns(db)}, bytes, created_at::text as page_at from prompts.prompts
    where account_id = ${accountId} ${states ? db`and state = any(${[...states]}::text[])` : db``}
      ${due ? db`and (not_before is null or not_before <= ${nowOf(db, time)})` : db``}
      ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
  return db<(PromptRow & PagedRow & { is_cut: boolean })[]>`
    with page as (${rows}), counted as (
      select page.*, sum(bytes) over (order by created_at desc, id desc) - bytes as before from page
    )
    select *, exists (select 1 from counted where before >= ${mostPageBytes}) as is_cut
    from counted where before < ${mostPageBytes} order by created_at desc, id desc`;
}

/** A prompt of the account. */
export async function findPrompt(db: Db, accountId: string, id: string): Promise<PromptRow | undefined> {
  const [row] = await db<PromptRow[]>`
    select ${columns(db)} from prompts.prompts where id = ${id} and account_id = ${accountId}`;
  return row;
}

/** The same, locked until the transaction ends. */
export async function lockPrompt(db: Db, accountId: string, id: string): Promise<PromptRow | undefined> {
  const [row] = await db<PromptRow[]>`
    select ${columns(db)} from prompts.prompts where id = ${id} and account_id = ${accountId} for update`;
  return row;
}

/** Prompts by id. */
export async function findPrompts(db: Db, ids: readonly string[]): Promise<PromptRow[]> {
  return db<PromptRow[]>`select ${columns(db)} from prompts.prompts where id = any(${[...ids]}::uuid[])`;
}

/** Active prompts of an account that have a session, newest first. */
export async function listWithSession(db: Db, accountId: string, states: readonly PromptState[], page: PageQuery) {
  return db<PagedRow[]>`
    select id, created_at::text as page_at from prompts.prompts
    where account_id = ${accountId} and state = any(${[...states]}::text[])
      and (run_session_id is not null or match_ref is not null)
      ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** Writes columns of a locked prompt. */
export async function changePrompt(db: Db, now: string, id: string, change: PromptChange): Promise<PromptRow> {
  const [row] = await db<PromptRow[]>`
    update prompts.prompts set ${db({ ...change, updated_at: now } as never)} where id = ${id} returning ${columns(db)}`;
  return row as PromptRow;
}

/** Deletes a locked prompt. */
export async function deletePrompt(db: Db, id: string): Promise<void> {
  await db`delete from prompts.prompts where id = ${id}`;
}

/** Prompts that a turn carries and that were sent and not answered yet, and the one of a launch, locked. */
export async function lockOfTurn(
  db: Db,
  { accountId, ref, turnId, launched }: MatchedTurn & { accountId: string; launched: string | null },
): Promise<PromptRow[]> {
  return db<PromptRow[]>`
    select ${columns(db)} from prompts.prompts
    where account_id = ${accountId}
      and (match_ref = ${ref} and match_turn_id = ${turnId} and state = 'sent' or id = ${launched}::uuid)
    order by id for update`;
}

/** Keeps prompts that were to launch themselves by now from doing so; answers how many. */
export async function disarmLaunches(db: Db, now: string): Promise<number> {
  return (await db`update prompts.prompts set armed_at = null where auto_run and armed_at <= ${now}`).count;
}

/** A prompt that is due. */
interface Due {
  id: string;
  auto_run: boolean;
}

/** Prompts that are due but for those of `not`, of accounts that may run, one of each account in turn. */
export async function listDue(db: Db, time: Time, most: number, not: readonly string[]): Promise<Due[]> {
  return db<Due[]>`
    select id, auto_run from (
      select id, auto_run, armed_at, row_number() over (partition by account_id order by armed_at, id) as nth
      from prompts.prompts
      where armed_at <= ${nowOf(db, time)} and armed_at is not null and id <> all(${[...not]}::uuid[])
        and exists (select 1 from accounts.standing_view a where a.id = account_id and a.may_run)
    ) due order by nth, armed_at limit ${most}`;
}

/** Those of them that are due still and not at work elsewhere, locked. */
export async function lockDue(db: Db, time: Time, ids: readonly string[]): Promise<PromptRow[]> {
  return db<PromptRow[]>`
    select ${columns(db)} from prompts.prompts
    where id = any(${[...ids]}::uuid[]) and armed_at <= ${nowOf(db, time)}
      and exists (select 1 from accounts.standing_view a where a.id = account_id and a.may_run)
    order by id for update of prompts skip locked`;
}

/** Nothing of these is due any more. */
export async function disarm(db: Db, ids: readonly string[]): Promise<void> {
  await db`
    update prompts.prompts set armed_at = null, reminds = false where id = any(${[...ids]}::uuid[])`;
}
