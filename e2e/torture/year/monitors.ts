import type { House } from './house.ts';
import { instantsOf, type Timetable } from './timetables.ts';

const minute = 60_000;
const hour = 60 * minute;

/** A monitor, its job, and what the model says of it. */
interface Watched {
  readonly id: string;
  readonly path: string;
  readonly periodMs: number;
  readonly graceMs: number;
  readonly cron: Timetable | undefined;
  /** Its job leaves out so many of 100 pings. */
  readonly misses: number;
  nextPing: number;
  /** By when a success is expected. */
  expected: number;
  isDown: boolean;
  downs: number;
  ups: number;
}

/** The household's monitors: some of their jobs miss a ping now and then. */
export class Monitors {
  readonly #house: House;
  readonly #random: () => number;
  readonly #watched: Watched[] = [];
  #told = { downs: 0, ups: 0 };
  pings = 0;

  constructor(house: House, random: () => number) {
    this.#house = house;
    this.#random = random;
  }

  async make(): Promise<void> {
    for (let n = 0; n < 10; n++) {
      const hours = [6, 8, 12, 12, 24, 24, 24, 48, 24, 24][n] as number;
      const cron: Timetable | undefined =
        n < 8
          ? undefined
          : { kind: 'days', at: n === 8 ? '03:30' : '02:30', tz: n === 8 ? 'Europe/Bucharest' : 'America/New_York' };
      const graceS = n % 2 === 0 ? 1_800 : 3_600;
      const times = cron
        ? { cron: n === 8 ? '30 3 * * *' : '30 2 * * *', tz: n === 8 ? 'Europe/Bucharest' : 'America/New_York' }
        : { period_s: hours * 3_600 };
      const body = { name: `job ${n}`, grace_s: graceS, ...times };
      const made = await this.#house.must('POST', '/v1/heartbeats', { body });
      const { now } = this.#house;
      const one = {
        id: made.id,
        path: new URL(made.ping_url).pathname,
        periodMs: hours * hour,
        graceMs: graceS * 1_000,
        cron,
        misses: n % 3 === 0 ? 6 : n === 4 ? 15 : 0,
        nextPing: now + (n + 1) * 17 * minute,
        isDown: false,
        downs: 0,
        ups: 0,
      };
      this.#watched.push({ ...one, expected: expectedAfter(one, now) });
    }
  }

  /** The next instant after now at which something of it happens. */
  next(): number {
    return Math.min(
      ...this.#watched
        .flatMap((one) => [one.nextPing, one.isDown ? Infinity : deadlineOf(one)])
        .filter((at) => at > this.#house.now),
    );
  }

  /** What jobs do at this instant, and what the model says of it. Where the platform is down their pings are lost. */
  async act(): Promise<void> {
    const { now } = this.#house;
    for (const one of this.#watched) {
      if (one.nextPing > now) {
        this.#fall(one);
        continue;
      }
      // Jobs of a timetable end some minutes behind its instant.
      one.nextPing = one.cron
        ? expectedAfter(one, now) + Math.ceil(this.#random() * 25) * minute
        : now + one.periodMs - Math.ceil(this.#random() * 10) * minute;
      const dice = this.#random() * 100;
      if (!this.#house.isUp || dice < one.misses) {
        if (this.#house.isUp) this.#fall(one);
        continue;
      }
      const fails = dice > 98;
      await this.#house.ping(`${one.path}${fails ? '/fail' : ''}`);
      this.pings += 1;
      this.#fall(one);
      if (fails && !one.isDown) {
        one.isDown = true;
        one.downs += 1;
      } else if (!fails) {
        if (one.isDown) one.ups += 1;
        one.isDown = false;
        one.expected = expectedAfter(one, this.#house.now);
      }
    }
  }

  #fall(one: Watched): void {
    if (one.isDown || this.#house.now < deadlineOf(one)) return;
    one.isDown = true;
    one.downs += 1;
  }

  /** Alerts that differ from what pings say; all since the beginning. */
  async check(): Promise<string[]> {
    for (const one of this.#watched) this.#fall(one);
    const rows = await this.#house.sql<{ id: string; status: string; outage: number }[]>`
      select id, status, outage from heartbeats.monitors`;
    const found: string[] = [];
    for (const [n, one] of this.#watched.entries()) {
      const row = rows.find(({ id }) => id === one.id);
      if ((row?.status === 'down') !== one.isDown)
        found.push(`monitor ${n} is ${row?.status}, and its pings say otherwise`);
      if (row?.outage !== one.downs) found.push(`monitor ${n} went down ${row?.outage} times, not ${one.downs}`);
    }
    return found;
  }

  /** How many alerts there must have been since this was asked last. */
  notified(): Map<string, readonly [number, number]> {
    const sum = (pick: (one: Watched) => number): number => this.#watched.reduce((all, one) => all + pick(one), 0);
    const [downs, ups] = [sum(({ downs }) => downs), sum(({ ups }) => ups)];
    const [down, up] = [downs - this.#told.downs, ups - this.#told.ups];
    this.#told = { downs, ups };
    return new Map([
      ['heartbeat.down', [down, down] as const],
      ['heartbeat.up', [up, up] as const],
    ]);
  }
}

const deadlineOf = ({ expected, graceMs }: Pick<Watched, 'expected' | 'graceMs'>): number => expected + graceMs;

const expectedAfter = ({ cron, periodMs }: Pick<Watched, 'cron' | 'periodMs'>, now: number): number =>
  cron ? (instantsOf(cron, 0, now, now + 50 * hour)[0] as number) : now + periodMs;
