import { randomUUID } from 'node:crypto';
import type { House } from './house.ts';
import { type Away, isOverlap, type Kept, outcomesOf, overlapsOf, type Row } from './slots.ts';
import { instantsOf } from './timetables.ts';
import { written } from './written.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** At least, and at most. */
export type Span = readonly [least: number, most: number];

/** A run that a device took. */
interface Claimed {
  readonly id: string;
  readonly attempt: number;
}

/** A device: it takes runs while it is awake. */
interface Device {
  readonly id: string;
  awake: boolean;
  /** When it wakes or sleeps next. */
  turnsAt: number;
}

/** When who has a run that nobody started hears of it. */
const lateMs = 5 * minute;

/** The household's schedules and devices, and what must come of them. */
export class Schedules {
  readonly #house: House;
  readonly #random: () => number;
  readonly #kept: Kept[] = [];
  readonly #devices: Device[] = [];
  readonly #away: Away[] = [];
  /** Results that were reported, by run. */
  readonly #failed = new Set<string>();
  readonly #answered = new Set<string>();
  /** Runs that await a person who will decide at an instant. */
  readonly #asked = new Map<string, number>();
  /** When a device heard that it has a run. */
  readonly #claimedAt = new Map<string, number>();
  #newlyFailed = 0;
  readonly gone = { count: 0, expired: 0 };
  #checkedTo = 0;
  slots = 0;
  runs = 0;

  constructor(house: House, random: () => number) {
    this.#house = house;
    this.#random = random;
  }

  async make(): Promise<void> {
    const start = this.#house.now;
    for (let n = 0; n < 4; n++)
      this.#devices.push({ id: randomUUID(), awake: true, turnsAt: start + (5 + 3 * n) * hour });
    // Known from their first call on.
    for (const device of this.#devices) await this.#claim(device);
    for (const [n, [name, fields, [trigger, timetable]]] of written(start).entries()) {
      const target = n % 5 === 4 ? { type: 'host', device_id: this.#devices[n % 4]?.id } : { type: 'any' };
      const policy = { pause_after_failures: 0, ...(fields['policy'] as object) };
      const body = { kind: 'agent', spec: { prompt: name }, late_after_s: 0, target, name, trigger, ...fields, policy };
      const schedule = await this.#house.must('POST', '/v1/schedules', { body });
      this.#kept.push({
        id: schedule.id,
        name,
        timetable,
        misfire: (fields['misfire'] as Kept['misfire']) ?? 'once',
        overlap: (fields['overlap'] as Kept['overlap']) ?? 'skip',
        made: Date.parse(schedule.created_at),
        asks: name === 'asked',
        isLate: name === 'noon',
      });
    }
    this.#checkedTo = this.#house.now;
  }

  /** The next instant at which something of it happens. */
  next(): number {
    const { now, settledAt } = this.#house;
    // What is done takes its time: a slot may have come meanwhile.
    const slots = this.#kept.map(
      ({ timetable, made }) => instantsOf(timetable, made, settledAt, now + 13 * hour)[0] ?? Infinity,
    );
    const others = [...this.#devices.map(({ turnsAt }) => turnsAt), ...this.#asked.values()];
    return Math.min(...slots, ...others.filter((at) => at > now));
  }

  /** From now on, until an instant, the platform is not there or the account is paused. */
  away(why: Away['why'], to: number): void {
    this.#away.push({ why, from: this.#house.now, to });
  }

  /** What devices and people do at this instant. */
  async act(): Promise<void> {
    const { now } = this.#house;
    for (const device of this.#devices) {
      if (device.turnsAt > now) continue;
      device.awake = !device.awake;
      // Sometimes for more than a day: what waits for it expires.
      const hours = device.awake ? 8 + 20 * this.#random() : this.#random() < 0.05 ? 30 : 2 + 8 * this.#random();
      device.turnsAt = now + Math.floor(hours * 60) * minute + 13 * second;
    }
    await this.#decide();
    const taken: [Device, Claimed][] = [];
    if (!(await this.#hasWork())) return;
    for (const device of this.#devices) {
      for (let more = device.awake; more; ) {
        const run = await this.#claim(device);
        more = run !== null;
        if (!run) continue;
        taken.push([device, run]);
        if (!this.#claimedAt.has(run.id)) this.#claimedAt.set(run.id, now);
      }
    }
    if (taken.length === 0) return;
    this.#house.clock.leap(Math.ceil(this.#random() * 30) * second);
    for (const [device, run] of taken) await this.#report(device, run);
  }

  /** Whether a device that asks may get something: four that ask in vain at each step would take most of the time. */
  async #hasWork(): Promise<boolean> {
    const now = new Date(this.#house.now).toISOString();
    const rows = await this.#house.sql`
      select 1 from scheduler.runs where state = 'pending' and not_before <= ${now} limit 1`;
    return rows.length > 0;
  }

  #claim({ id: device }: Device): Promise<Claimed | null> {
    const ask = { body: { kinds: ['agent'] }, device, isPlain: true };
    return this.#house.must('POST', '/v1/scheduler/claim', ask).then(({ run }) => run);
  }

  async #report(device: Device, { id, attempt }: Claimed): Promise<void> {
    this.runs += 1;
    const dice = this.#random();
    if (dice < 0.03) {
      // The device is gone in the middle of it: its lease ends, and another one takes it.
      this.gone.count += 1;
      return;
    }
    const ok = dice > 0.1;
    const body = { attempt, ok, ...(!ok && { error: 'it went wrong', exit_code: 1 }) };
    const { status } = await this.#house.ask('POST', `/v1/schedule-runs/${id}/result`, {
      body,
      device: device.id,
      isPlain: true,
    });
    // A run of the schedule that is replaced by the next one was cancelled meanwhile.
    if (status === 409) return;
    if (status !== 200) throw new Error(`a result was answered with ${status}`);
    this.#answered.add(id);
    if (ok) return;
    this.#failed.add(id);
    this.#newlyFailed += 1;
  }

  /** Who is asked approves, skips, or forgets until a day is over. */
  async #decide(): Promise<void> {
    const { now } = this.#house;
    const runs = await this.#house.sql<{ id: string }[]>`
      select id from scheduler.runs where state = 'awaiting_approval'`;
    for (const { id } of runs) {
      if (!this.#asked.has(id)) {
        this.#asked.set(id, this.#random() < 0.1 ? Infinity : now + Math.ceil(this.#random() * 300) * minute);
        continue;
      }
      if ((this.#asked.get(id) ?? Infinity) > now) continue;
      this.#asked.delete(id);
      const body = { decision: this.#random() < 0.8 ? 'approve' : 'skip' };
      await this.#house.ask('POST', `/v1/schedule-runs/${id}/decision`, { body });
    }
    for (const id of this.#asked.keys()) if (!runs.some((run) => run.id === id)) this.#asked.delete(id);
  }

  /** What does not hold of the time since the last look. */
  async check(): Promise<string[]> {
    const [from, to] = [this.#checkedTo, this.#house.now];
    this.#checkedTo = to;
    const rows = await this.#house.sql<Row[]>`
      select id, schedule_id, scheduled_for, origin, state, error, created_at, finished_at from scheduler.runs
      where scheduled_for > ${new Date(from - 48 * hour).toISOString()} order by created_at, ordinal`;
    const found: string[] = [];
    for (const kept of this.#kept) {
      const own = rows.filter((row) => row.schedule_id === kept.id);
      found.push(...this.#slotsOf(kept, own, from, to), ...overlapsOf(kept, own, from));
    }
    return found;
  }

  /** Each slot has its run, or the reason why it has none; no run is of another instant. */
  #slotsOf(kept: Kept, rows: readonly Row[], from: number, to: number): string[] {
    const found: string[] = [];
    const byInstant = Map.groupBy(rows, (row) => Date.parse(row.scheduled_for));
    const slots = instantsOf(kept.timetable, kept.made, from, to);
    this.slots += slots.length;
    const say = (slot: number, words: string): void => void found.push(`${kept.name} at ${iso(slot)}: ${words}`);
    for (const slot of slots) {
      const own = byInstant.get(slot) ?? [];
      byInstant.delete(slot);
      const may = outcomesOf(kept, slot, slots, this.#away);
      if (own.length > 1) say(slot, `has ${own.length} runs`);
      else if (own.length === 0 && !may.includes('none')) say(slot, 'has neither a run nor a reason');
      else if (own[0] && !may.includes(own[0].origin))
        say(slot, `has a run by ${own[0].origin}, not ${may.join(' or ')}`);
    }
    for (const [slot] of byInstant) if (slot > from && slot <= to) say(slot, 'has a run and is no slot');
    return found;
  }

  /** How many of each kind of notification must have been made after an instant, at least and at most. */
  async notified(after: number): Promise<Map<string, Span>> {
    const asked = this.#kept.find(({ asks }) => asks)?.id;
    const noon = this.#kept.find(({ isLate }) => isLate)?.id;
    const since = new Date(after - 26 * hour).toISOString();
    const rows = await this.#house.sql<(Row & { leases_lost: number; first_began: string | null })[]>`
      select id, schedule_id, scheduled_for, origin, state, error, created_at, finished_at, leases_lost,
        (select min(a.started_at) from scheduler.attempts a where a.run_id = runs.id) as first_began
      from scheduler.runs where created_at > ${since} or finished_at > ${since}`;
    const failed = this.#newlyFailed;
    this.#newlyFailed = 0;
    const ended = rows.filter(({ finished_at: end }) => end !== null && Date.parse(end) > after);
    const expired = ended.filter(({ state }) => state === 'expired').length;
    this.gone.expired += expired;
    // Its device was gone while the platform was away too: its time was over when somebody looked.
    const lost = ended.filter(
      ({ state, leases_lost: leases }) => state === 'timed_out' || (state === 'failed' && leases >= 3),
    ).length;
    const approvals = rows.filter(
      (row) => row.schedule_id === asked && !isOverlap(row) && Date.parse(row.created_at) > after,
    );
    const due = (row: Row): number => Date.parse(row.created_at) + lateMs;
    const late = rows.filter(
      (row) => row.schedule_id === noon && !isOverlap(row) && due(row) > after && due(row) <= this.#house.now,
    );
    const claimed = ({ id }: Row): number | undefined => this.#claimedAt.get(id);
    // A claim of which no device heard was one: its lease ended, and the next one was heard after its time.
    const wasBegun = (row: (typeof late)[number]): boolean =>
      row.first_began !== null && Date.parse(row.first_began) < due(row);
    // Who is back after an outage of more than a day finds its whole time over, and says that.
    const wasMissed = (row: Row): boolean =>
      this.#away.some(({ why, from, to }) => why === 'down' && from <= due(row) && to >= due(row) - lateMs + day);
    const sure = late.filter(
      (row) =>
        !wasBegun(row) && !wasMissed(row) && (claimed(row) ?? (row.state === 'expired' ? Infinity : 0)) >= due(row),
    );
    const maybe = late.filter((row) => (claimed(row) ?? Infinity) >= due(row));
    return new Map<string, Span>([
      ['schedule.failed', [failed + expired, failed + expired + lost]],
      ['schedule.approval', [approvals.length, approvals.length]],
      ['schedule.late', [sure.length, maybe.length]],
    ]);
  }

  /** Runs that the model heard fail, or that ended otherwise than reported. */
  async outcomes(): Promise<string[]> {
    const rows = await this.#house.sql<{ id: string; state: string }[]>`
      select id, state from scheduler.runs where id = any(${[...this.#answered]}::uuid[])`;
    const wrong = rows.filter(({ id, state }) => state !== (this.#failed.has(id) ? 'failed' : 'succeeded'));
    this.#answered.clear();
    const failed = await this.#house.sql<{ id: string; error: string | null; leases_lost: number; attempt: number }[]>`
      select id, error, leases_lost, attempt from scheduler.runs
      where state = 'failed' and id <> all(${[...this.#failed]}::uuid[])`;
    const early = await this.#house.sql<{ id: string; name: string }[]>`
      select id, name from scheduler.runs
      where state = 'expired' and finished_at < greatest(created_at, not_before) + interval '24 hours'`;
    if (early.length > 0) return [`runs expired before their day was over: ${JSON.stringify(early.slice(0, 3))}`];
    const unheard = failed.filter(({ leases_lost: leases }) => leases < 3);
    if (unheard.length > 0) return [`runs failed that nobody reported: ${JSON.stringify(unheard.slice(0, 3))}`];
    return wrong.map(({ id, state }) => `the run ${id} is ${state}, and was reported otherwise`);
  }
}

const iso = (instant: number): string => new Date(instant).toISOString();
