import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import type { Deal } from '../../../kernel/share/share.ts';
import type { StepChange, StepKind, StepRow, Track } from '../transcripts.rows.ts';
import { type StepState, stepStates } from '../transcripts.states.ts';

const columns = (db: Db) => db`
  id, transcript_id, account_id, generation, kind, track, n, given, state, attempt, tries, due_at, lease_until, gateway_id,
  last_error, cost_micro_usd`;
const unfinished = stepStates.sql('unfinished');

/** A step that is to be done. */
interface PlannedStep {
  transcriptId: string;
  accountId: string;
  generation: number;
  kind: StepKind;
  track?: Track;
  n?: number;
  given?: object;
  state: StepState;
}

/** Plans steps that do not stand yet. */
export async function insertSteps(db: Db, time: Time, steps: readonly PlannedStep[]): Promise<void> {
  const now = nowOf(db, time);
  for (const { transcriptId, accountId, generation, kind, track = null, n = 0, given = null, state } of steps)
    await db`
      insert into transcripts.steps (transcript_id, account_id, generation, kind, track, n, given, state, due_at, created_at)
      values (${transcriptId}, ${accountId}, ${generation}, ${kind}, ${track}, ${n},
        ${given === null ? null : JSON.stringify(given)}::text::jsonb, ${state}, ${now}, ${now})
      on conflict do nothing`;
}

/**
 * Locks the next steps of some kinds that are due, of accounts that may have work done: account by account in turn, those
 * with least under way first.
 */
export async function lockDue(db: Db, time: Time, kinds: readonly StepKind[], deal: Deal): Promise<StepRow[]> {
  const accounts = [...deal.taken.keys()];
  const counts = [...deal.taken.values()];
  return db<StepRow[]>`
    with taken as (select * from unnest(${accounts}::uuid[], ${counts}::int[]) as t (account_id, n)),
    accounts as (
      select distinct account_id from transcripts.steps
      where state = 'waiting' and kind = any(${[...kinds]}) and due_at <= ${nowOf(db, time)}),
    ranked as (
      select s.id, coalesce(t.n, 0) + row_number() over (partition by s.account_id order by s.due_at, s.n) as turn, s.due_at
      from accounts a
      join accounts.standing_view standing on standing.id = a.account_id and standing.may_run
      left join taken t on t.account_id = a.account_id
      cross join lateral (
        select id, account_id, due_at, n from transcripts.steps w
        where w.account_id = a.account_id and w.state = 'waiting' and w.kind = any(${[...kinds]})
          and w.due_at <= ${nowOf(db, time)}
        order by w.due_at, w.n limit ${deal.ofOne}) s)
    select ${columns(db)} from transcripts.steps
    where id in (select id from ranked where turn <= ${deal.ofOne} order by turn, due_at limit ${Math.max(0, deal.total)})
      and state = 'waiting'
    order by due_at, n for update skip locked`;
}

/** Milliseconds until the next step is due; undefined when none waits. */
export async function untilDue(db: Db, time: Time): Promise<number | undefined> {
  const [row] = await db<{ ms: number | null }[]>`
    select (extract(epoch from min(due_at) - ${nowOf(db, time)}::timestamptz) * 1000)::float8 as ms
    from transcripts.steps where state = 'waiting' and due_at > ${nowOf(db, time)}`;
  return row?.ms ?? undefined;
}

/** Locks running steps whose lease is over, or whose gateway has none any more. */
export async function lockLost(db: Db, time: Time, limit: number): Promise<StepRow[]> {
  return db<StepRow[]>`
    select ${columns(db)} from transcripts.steps s
    where state = 'running' and lease_until is not null and (lease_until <= ${nowOf(db, time)}
      or not exists (select from kernel.live_gateways_view g where g.id = s.gateway_id))
    order by lease_until limit ${limit} for update skip locked`;
}

/** The step, locked, as long as this attempt of it is the newest; undefined when another one has it, or it is gone. */
export async function lockStep(db: Db, { id, attempt }: Pick<StepRow, 'id' | 'attempt'>): Promise<StepRow | undefined> {
  const [row] = await db<StepRow[]>`
    select ${columns(db)} from transcripts.steps where id = ${id} and attempt = ${attempt} and state = 'running' for update`;
  return row;
}

/** Changes a locked step. */
export async function changeStep(db: Db, id: string, change: StepChange): Promise<void> {
  await db`update transcripts.steps set ${db(change as never)} where id = ${id}`;
}

/** Renews the leases of steps that this gateway has; answers those that are its own still. */
export async function renewSteps(
  db: Db,
  time: Time,
  { gatewayId, ids, seconds }: { gatewayId: string; ids: readonly string[]; seconds: number },
): Promise<Set<string>> {
  const rows = await db<{ id: string }[]>`
    update transcripts.steps set lease_until = ${nowOf(db, time)}::timestamptz + make_interval(secs => ${seconds})
    where id = any(${[...ids]}::uuid[]) and gateway_id = ${gatewayId} and state = 'running' returning id`;
  return new Set(rows.map(({ id }) => id));
}

/** The steps of a generation of a transcript. */
export async function stepsOf(db: Db, transcriptId: string, generation: number): Promise<StepRow[]> {
  return db<StepRow[]>`
    select ${columns(db)} from transcripts.steps where transcript_id = ${transcriptId} and generation = ${generation}
    order by kind, track, n`;
}

/** Of each transcript the step that is under way or waits, the one with most failed tries first; else one that failed. */
export async function currentSteps(db: Db, ids: readonly string[]): Promise<StepRow[]> {
  return db<StepRow[]>`
    select distinct on (transcript_id) ${columns(db)} from transcripts.steps
    where transcript_id = any(${[...ids]}::uuid[])
      and (state in ${unfinished(db)} or (state = 'failed' and kind <> 'vectors'))
    order by transcript_id, (state = 'failed'), (kind = 'vectors'), tries desc, state, due_at, n`;
}

/** Results of steps that are done, gzipped JSON. */
export async function resultsOf(
  db: Db,
  transcriptId: string,
  generation: number,
  kind: StepKind,
): Promise<(Pick<StepRow, 'track' | 'n' | 'given'> & { result: Buffer })[]> {
  return db<(Pick<StepRow, 'track' | 'n' | 'given'> & { result: Buffer })[]>`
    select track, n, given, result from transcripts.steps
    where transcript_id = ${transcriptId} and generation = ${generation} and kind = ${kind} and result is not null
    order by track, n`;
}

/** Forgets the steps of a transcript but for those of a generation. */
export async function deleteOtherSteps(db: Db, transcriptId: string, generation: number): Promise<void> {
  await db`delete from transcripts.steps where transcript_id = ${transcriptId} and generation <> ${generation}`;
}

/** Forgets steps of some kinds that are to be done again. */
export async function deleteSteps(
  db: Db,
  transcriptId: string,
  generation: number,
  kinds: readonly StepKind[],
): Promise<void> {
  await db`
    delete from transcripts.steps
    where transcript_id = ${transcriptId} and generation = ${generation} and kind = any(${[...kinds]})`;
}

/** How many steps wait and how many run. */
export async function countSteps(db: Db): Promise<{ waiting: number; running: number }> {
  const [row] = await db<{ waiting: number; running: number }[]>`
    select count(*) filter (where state = 'waiting')::int as waiting, count(*) filter (where state = 'running')::int as running
    from transcripts.steps where state in ${unfinished(db)}`;
  return row ?? { waiting: 0, running: 0 };
}
