import { slotsAfter } from '@svc/timetable';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { nowOf, type Sql } from '../db/db.ts';
import { type Loop, startLoop } from './loop.ts';
import type { Pulse } from './pulse.ts';

/** Work that recurs by the clock, and is retried. */
export interface Job<K> {
  /** `<feature>.<verb>`. */
  readonly name: string;
  /** A cron expression in UTC: each slot runs once over all gateways, missed ones once together. */
  readonly cron: string;
  /** Retries after a failure, with exponential back-off from 1 s. Default 5. */
  readonly retries?: number;
  /** Seconds after which a try counts as failed, and another process may begin the next. Default 300. */
  readonly timeoutSeconds?: number;
  /** At least once: it must bear a repeat. */
  readonly run: (kernel: K) => Promise<void>;
}

/** The platform's timetable: a row of `kernel.jobs` for each job, and a lease on it for the process that runs it. */
export interface Jobs {
  /** Writes the jobs into the timetable and begins to run those that are due. */
  start<K>(definitions: readonly Job<K>[], kernel: K): Promise<void>;
  /** Lets running jobs finish (5 s), hands the rest back. */
  close(): Promise<void>;
}

/** A job that this process holds the lease of. */
interface Taken {
  readonly name: string;
  readonly tries: number;
  readonly fence: number;
  /** When it was due; milliseconds since the epoch, like `taken_at`. */
  readonly due_at: number;
  /** On the database's clock. */
  readonly taken_at: number;
}

/** The state of a row once its lease is given up. */
interface Released {
  readonly taken: Taken;
  readonly tries: number;
  readonly dueAt: number;
}

type AnyJob = Required<Omit<Job<unknown>, 'run'>> & { readonly run: () => Promise<void> };
type Parts = { sql: Sql; clock: Clock; log: Log; pulse?: Pulse };

const closeTimeoutMs = 5_000;
const firstRetryMs = 1_000;
/** A sleeping process looks at least so often: another one may have handed a job back, or the database's clock jumped. */
const longestSleepMs = 30_000;
/** After an outage of the database, and for a row that another process is taking at this moment. */
const lookAgainMs = 1_000;
/** A job that is overdue by so much is run by no gateway any more: one of any version that knows it would have taken it. */
const forgottenAfter = '1 day';

/** Opens the timetable; it asks nothing before `start`. */
export function openJobs(parts: Parts): Jobs {
  let timetable: Timetable | undefined;
  return {
    async start(definitions, kernel) {
      const jobs = definitions.map(({ retries = 5, timeoutSeconds = 300, run, ...job }) => ({
        ...job,
        retries,
        timeoutSeconds,
        run: () => run(kernel),
      }));
      timetable = new Timetable(parts, jobs);
      await timetable.start();
    },
    close: async () => timetable?.close(),
  };
}

class Timetable {
  readonly #parts: Parts;
  readonly #jobs: ReadonlyMap<string, AnyJob>;
  readonly #running = new Map<Taken, Promise<void>>();
  /** Runs that ended and are not written yet: the database may be away. */
  readonly #released = new Set<Released>();
  #loop: Loop | undefined;
  #isAway = false;

  constructor(parts: Parts, jobs: readonly AnyJob[]) {
    this.#parts = parts;
    this.#jobs = new Map(jobs.map((job) => [job.name, job]));
  }

  async start(): Promise<void> {
    await register(this.#parts, [...this.#jobs.values()]);
    const work = () => this.#look();
    this.#loop = startLoop(this.#parts, { name: 'kernel.jobs', everyMs: longestSleepMs, isVital: true, work });
    this.#loop.wake();
  }

  async close(): Promise<void> {
    await this.#loop?.stop();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(closeTimeoutMs, resolve);
    await Promise.race([Promise.all(this.#running.values()), late]);
    cancel();
    // Not a try of theirs: a deployment must not use up the retries of a long job.
    for (const taken of this.#running.keys()) {
      this.#released.add({ taken, tries: taken.tries - 1, dueAt: taken.due_at });
    }
    this.#running.clear();
    await this.#writeReleased().catch((err: unknown) => {
      this.#parts.log.warn({ err }, 'jobs were not handed back; others take them when their leases end');
    });
  }

  /** Takes what is due, and answers in how many milliseconds to look again. */
  async #look(): Promise<number> {
    const { log } = this.#parts;
    try {
      await this.#writeReleased();
      for (const taken of await take(this.#parts, [...this.#jobs.values()])) {
        this.#running.set(taken, this.#run(taken, this.#jobs.get(taken.name) as AnyJob));
      }
      const ms = await untilNext(this.#parts, [...this.#jobs.keys()]);
      this.#isAway = false;
      return ms >= 0 ? ms + 1 : lookAgainMs;
    } catch (err) {
      // An outage is logged once, and not at each look.
      log[this.#isAway ? 'debug' : 'warn']({ err }, 'the timetable of jobs was not read; it is read again');
      this.#isAway = true;
      return lookAgainMs;
    }
  }

  async #writeReleased(): Promise<void> {
    for (const released of this.#released) {
      await release(this.#parts.sql, released);
      this.#released.delete(released);
    }
  }

  async #run(taken: Taken, job: AnyJob): Promise<void> {
    const { clock, log } = this.#parts;
    const { name, tries } = taken;
    const began = clock.monotonic();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(job.timeoutSeconds * 1_000, () => reject(new Error('it took too long')));
    // The next slot after this one was taken: a slot that came meanwhile is run at once, and those before it are not.
    let released = { taken, tries: 0, dueAt: nextSlot(job, taken.taken_at) };
    const work = (): Promise<void> => {
      if (tries > job.retries + 1) throw new Error('the process that ran it ended');
      return job.run();
    };
    try {
      // A throw is waited for, too: what ended in this turn would not stand in `#running` yet, and never be released.
      await Promise.race([Promise.try(work), late]);
    } catch (err) {
      const isLast = tries > job.retries;
      const retryAt = taken.taken_at + clock.monotonic() - began + firstRetryMs * 2 ** (tries - 1);
      if (!isLast) released = { taken, tries, dueAt: retryAt };
      log[isLast ? 'error' : 'warn'](
        { err, job: name, tries },
        isLast ? 'a job failed' : 'a job failed; it is retried',
      );
    }
    cancel();
    // After `close` it is handed back already.
    if (!this.#running.delete(taken)) return;
    this.#released.add(released);
    this.#loop?.wake();
  }
}

function nextSlot({ name, cron }: Pick<AnyJob, 'name' | 'cron'>, after: number): number {
  const [slot] = slotsAfter({ type: 'cron', expr: cron, tz: 'UTC' }, { anchor: 0, limit: 1, after });
  if (slot === undefined) throw new Error(`${name}: ${cron} names no instant`);
  return slot;
}

/** Adds what is new, changes what has another cron, and drops what no gateway has run for long. */
async function register({ sql, clock }: Parts, jobs: readonly AnyJob[]): Promise<void> {
  const [row] = await sql<{ now: number }[]>`select ${milliseconds(sql, nowOf(sql, clock))} as now`;
  const { now } = row as { now: number };
  const names = jobs.map(({ name }) => name);
  const slots = jobs.map((job) => new Date(nextSlot(job, now)).toISOString());
  await sql`
    insert into kernel.jobs as known (name, cron, due_at)
    select * from unnest(${names}::text[], ${jobs.map(({ cron }) => cron)}::text[], ${slots}::timestamptz[])
    on conflict (name) do update set cron = excluded.cron, due_at = excluded.due_at, tries = 0
    where known.cron <> excluded.cron`;
  await sql`
    delete from kernel.jobs where name <> all (${names}::text[])
      and greatest(due_at, lease_until) < ${nowOf(sql, clock)} - ${forgottenAfter}::interval`;
}

/** Takes the lease of every job of `jobs` that is due, and of one whose process lost it. */
async function take({ sql, clock }: Parts, jobs: readonly AnyJob[]): Promise<Taken[]> {
  const now = nowOf(sql, clock);
  return sql<Taken[]>`
    with wanted as (
      select * from unnest(${jobs.map(({ name }) => name)}::text[], ${jobs.map((job) => job.timeoutSeconds)}::int[])
        as w (name, seconds)
    ), due as (
      select name from kernel.jobs where name in (select name from wanted) and greatest(due_at, lease_until) <= ${now}
      for update skip locked
    )
    update kernel.jobs j set tries = j.tries + 1, fence = j.fence + 1, lease_until = ${now} + make_interval(secs => seconds)
    from wanted join due using (name) where j.name = due.name
    returning j.name, j.tries, j.fence, ${milliseconds(sql, sql`j.due_at`)} as due_at,
      ${milliseconds(sql, now)} as taken_at`;
}

/** Gives a lease up; a process that lost it meanwhile changes nothing. */
async function release(sql: Sql, { taken, tries, dueAt }: Released): Promise<void> {
  await sql`
    update kernel.jobs set tries = ${tries}, fence = fence + 1, lease_until = null, due_at = ${new Date(dueAt).toISOString()}
    where name = ${taken.name} and fence = ${taken.fence}`;
}

/** Milliseconds until the next of these jobs can be taken. */
async function untilNext({ sql, clock }: Parts, names: readonly string[]): Promise<number> {
  const next = sql`min(greatest(due_at, lease_until)) - ${nowOf(sql, clock)}`;
  const [row] = await sql<{ ms: number | null }[]>`
    select ${milliseconds(sql, next)} as ms from kernel.jobs where name = any (${names}::text[])`;
  return row?.ms ?? longestSleepMs;
}

/** Whole milliseconds of an instant since the epoch, or of an interval. */
const milliseconds = (sql: Sql, of: ReturnType<typeof nowOf>) => sql`floor(extract(epoch from ${of}) * 1000)::float8`;
