import { randomOf } from '../../apps/server/src/testing.random.ts';
import { Counter, type Counts } from './counts.ts';
import { type Outcome, outcomeOf, tally } from './findings.ts';
import { violations } from './invariants.ts';
import { growth } from './year/growth.ts';
import { House } from './year/house.ts';
import { Meetings } from './year/meetings.ts';
import { Monitors } from './year/monitors.ts';
import { Prompts } from './year/prompts.ts';
import { Schedules } from './year/schedules.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const week = 7 * day;
/** Monday. Winter time ends and begins again in every zone of the household before a year is over. */
const start = Date.parse('2026-11-02T00:00:10Z');
/** By then all that is kept for a time has been for its time; the longest are 100 days of a monitor's changes. */
const steadyAfter = 15 * week;

/** How long a household lives, and by which dice. */
export interface YearOptions {
  readonly days?: number;
  readonly seed?: number;
  readonly tell?: (line: string) => void;
}

/** Lets a household live on a turned clock, with faults, and holds it against a model of it. Needs `openServer`. */
export async function year({ days = 365, seed = 1, tell }: YearOptions = {}): Promise<Outcome> {
  const outcome = outcomeOf('year');
  await using house = await House.open(start);
  const life = new Life(house, { seed, outcome, days, tell });
  try {
    await life.begin();
    for (let end = house.now + week; ; end += week) {
      const last = start + days * day;
      await life.live(Math.min(end, last));
      await life.check();
      tell?.(`${new Date(house.now).toISOString()}: ${life.summary()}`);
      if (end >= last) break;
    }
  } catch (error) {
    life.find((error as Error).stack?.slice(0, 600) ?? String(error));
  }
  return outcome;
}

/** The parts of a life. */
interface LifeOptions extends Required<Pick<YearOptions, 'seed' | 'days'>> {
  readonly tell: YearOptions['tell'] | undefined;
  readonly outcome: Outcome;
}

/** A household and its faults. */
class Life {
  readonly #house: House;
  readonly #outcome: Outcome;
  readonly #days: number;
  readonly #seed: number;
  readonly #tell: YearOptions['tell'];
  readonly #random: () => number;
  readonly #schedules: Schedules;
  readonly #monitors: Monitors;
  readonly #prompts: Prompts;
  readonly #meetings: Meetings;
  #nextFault: number;
  #notifiedTo = start - 1;
  notifications = 0;
  #steady: Counts | undefined;
  /** What goes on until an instant. */
  #down: number | undefined;
  #paused: number | undefined;
  readonly #known = new Set<string>();

  constructor(house: House, { seed, outcome, days, tell }: LifeOptions) {
    this.#house = house;
    this.#outcome = outcome;
    this.#days = days;
    this.#seed = seed;
    this.#tell = tell;
    this.#random = randomOf(seed);
    this.#schedules = new Schedules(house, this.#random);
    this.#monitors = new Monitors(house, this.#random);
    this.#prompts = new Prompts(house, this.#random);
    this.#meetings = new Meetings(house);
    this.#nextFault = house.now + 9 * hour;
  }

  async begin(): Promise<void> {
    await this.#schedules.make();
    await this.#monitors.make();
    await this.#prompts.make();
  }

  /** Goes on from instant to instant. */
  async live(end: number): Promise<void> {
    while (this.#house.now < end) {
      const faultAt = this.#down ?? this.#paused ?? this.#nextFault;
      const at = Math.min(end, faultAt, this.#schedules.next(), this.#monitors.next(), this.#prompts.next());
      if (faultAt <= at) await this.#fault(faultAt);
      else {
        await this.#house.passTo(at);
        await this.#act();
      }
    }
    if (this.#down !== undefined) await this.#fault(this.#down);
    await this.#house.passTo(this.#house.now + 1_000);
    await this.#act();
  }

  async #act(): Promise<void> {
    await this.#monitors.act();
    if (!this.#house.isUp) return;
    await this.#schedules.act();
    await this.#prompts.act();
  }

  /** Begins or ends what the seed says. */
  async #fault(at: number): Promise<void> {
    const house = this.#house;
    if (this.#down !== undefined) {
      this.#down = undefined;
      if (at > house.now) house.clock.leap(at - house.now);
      await house.start(0);
      await house.start(1);
      await house.passTo(house.now);
      return this.#act();
    }
    await house.passTo(Math.max(at, house.now));
    if (this.#paused !== undefined) {
      this.#paused = undefined;
      return this.#act();
    }
    this.#nextFault = house.now + Math.ceil((10 + 30 * this.#random()) * 60) * minute + 29_000;
    const kind =
      (['restart', 'wire', 'bus', 'down', 'pause', 'restart'] as const)[Math.floor(this.#random() * 6)] ?? 'wire';
    this.#outcome.faults += 1;
    tally(this.#outcome, kind);
    if (kind === 'restart') await this.#restart(this.#random() < 0.5 ? 0 : 1);
    else if (kind === 'down') await this.#stop();
    else if (kind === 'pause') await this.#pause();
    else await this.#break(kind);
  }

  async #restart(which: 0 | 1): Promise<void> {
    await this.#house.stop(which);
    await this.#house.passTo(this.#house.now + 20_000);
    await this.#act();
    await this.#house.start(which);
  }

  async #stop(): Promise<void> {
    await this.#house.stop(0);
    await this.#house.stop(1);
    this.#down = this.#house.now + Math.ceil((1 + 30 * this.#random()) * 60) * minute;
    this.#schedules.away('down', this.#down);
  }

  async #pause(): Promise<void> {
    this.#paused = this.#house.now + Math.ceil((2 + 40 * this.#random()) * 60) * minute;
    this.#schedules.away('paused', this.#paused);
    const body = { until: new Date(this.#paused).toISOString(), resume_policy: 'skip' };
    await this.#house.must('POST', '/v1/schedules/pause', { body });
  }

  /** For some steps statements fail one by one, or the bus is away. */
  async #break(kind: 'wire' | 'bus'): Promise<void> {
    using _breaking = this.#house.breaking(({ application }) => {
      if (kind === 'bus') return application.startsWith('svc bus') ? 'cut' : 'pass';
      return this.#random() < 0.04 ? (this.#random() < 0.5 ? 'cut' : 'lose') : 'pass';
    });
    for (let steps = 0; steps < (kind === 'bus' ? 3 : 6); steps++) {
      const next = Math.min(this.#house.now + day, this.#schedules.next(), this.#monitors.next(), this.#prompts.next());
      await this.#house.passTo(next);
      await this.#act();
    }
  }

  find(says: string): void {
    if (this.#known.has(says)) return;
    this.#known.add(says);
    this.#tell?.(`found: ${says}`);
    const what = `a household of seed ${this.#seed}, by ${new Date(this.#house.now).toISOString()}`;
    this.#outcome.findings.push({ what, says, replay: `year --seed ${this.#seed} --days ${this.#days}` });
  }

  /** What must hold now. */
  async check(): Promise<void> {
    const house = this.#house;
    this.#outcome.cases += 1;
    const found = [
      ...(await this.#meetings.hold()),
      ...(await violations(house.sql)),
      ...(await this.#schedules.check()),
      ...(await this.#schedules.outcomes()),
      ...(await this.#monitors.check()),
      ...(await this.#prompts.check()),
      ...(await this.#notifications()),
    ];
    const counts = await (await Counter.of(house.sql)).count(house.account.id);
    if (this.#steady) found.push(...growth(this.#steady, counts));
    else if (house.now - start > steadyAfter) this.#steady = counts;
    for (const says of found) this.find(says);
  }

  /** Notifications since the last check are as many as the model says. */
  async #notifications(): Promise<string[]> {
    const [from, to] = [this.#notifiedTo, this.#house.now];
    this.#notifiedTo = to;
    const said = [
      await this.#schedules.notified(from),
      this.#monitors.notified(),
      this.#prompts.notified(),
      this.#meetings.notified(),
    ];
    const wanted = new Map(said.flatMap((one) => [...one]));
    const rows = await this.#house.sql<{ type: string; count: number }[]>`
      select type, count(*)::int as count from notifications.notifications
      where created_at > ${new Date(from).toISOString()} group by 1`;
    const got = new Map(rows.map(({ type, count }) => [type, count]));
    return [...new Set([...wanted.keys(), ...got.keys()])].flatMap((type) => {
      const [least, most] = wanted.get(type) ?? [0, 0];
      const count = got.get(type) ?? 0;
      this.notifications += count;
      if (count >= least && count <= most) return [];
      return [`${count} notifications ${type} since ${new Date(from).toISOString()}, not ${least} to ${most}`];
    });
  }

  summary(): string {
    const { spent, steps } = this.#house;
    const seconds = Object.entries(spent).map(([name, ms]) => `${name} ${(ms / 1_000).toFixed(1)} s`);
    const { slots, runs, gone } = this.#schedules;
    return `${steps} steps, ${slots} slots, ${runs} runs (${gone.count} lost, ${gone.expired} expired), ${this.#monitors.pings} pings, ${this.#prompts.made} prompts, ${this.#meetings.held} meetings, ${this.notifications} notifications, ${this.#outcome.findings.length} findings; ${seconds.join(', ')}`;
  }
}
