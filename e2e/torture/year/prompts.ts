import { randomUUID } from 'node:crypto';
import type { House } from './house.ts';

const minute = 60_000;
const hour = 60 * minute;

type State = 'open' | 'launched' | 'answered' | 'done' | 'dismissed';

/** A prompt and its story: what is done to it at which instants. */
interface Told {
  readonly id: string;
  readonly text: string;
  state: State;
  /** When its reminder is due; undefined: it has none. */
  remindsAt: number | undefined;
  /** When it launches by itself. */
  launchesAt: number | undefined;
  /** When a person closes it. */
  closesAt: number;
  readonly closes: 'done' | 'dismissed';
  /** Its launch waits for the device until then. */
  wakesAt: number | undefined;
  isFailing: boolean;
}

/** The household's prompts: three a day, of which some remind, some are launched and some launch themselves. */
export class Prompts {
  readonly #house: House;
  readonly #random: () => number;
  #live: Told[] = [];
  readonly told: Record<'due' | 'answered' | 'failed', number> = { due: 0, answered: 0, failed: 0 };
  /** That serves the launches. */
  readonly #device = randomUUID();
  /** Launches that may have waited for two minutes since notifications were asked for last: each is told of once. */
  #waited = 0;
  #nextAt = 0;
  made = 0;

  constructor(house: House, random: () => number) {
    this.#house = house;
    this.#random = random;
  }

  async make(): Promise<void> {
    const headers = { 'x-svc-device-name': 'desk', 'x-svc-device-platform': 'desktop' };
    await this.#house.must('GET', '/v1/devices', { device: this.#device, headers });
    this.#nextAt = this.#house.now + hour;
  }

  next(): number {
    const { now } = this.#house;
    const instants = this.#live.flatMap((one) => [one.remindsAt, one.launchesAt, one.wakesAt, one.closesAt]);
    return Math.min(...[this.#nextAt, ...instants].filter((at) => at !== undefined && at > now).map(Number));
  }

  /** What is due by itself was done by now; then what people and the device do. */
  async act(): Promise<void> {
    const { now } = this.#house;
    if (!this.#house.isUp) return;
    for (const one of this.#live) {
      if (one.remindsAt !== undefined && one.remindsAt <= now) {
        this.told.due += 1;
        one.remindsAt = undefined;
      }
      if (one.launchesAt === undefined || one.launchesAt > now) continue;
      this.told.due += 1;
      this.#launched(one);
    }
    const served = this.#live.filter(({ wakesAt }) => wakesAt !== undefined && wakesAt <= now);
    for (const one of served) await this.#serve(one);
    // Its end is told a moment later, and no more once a person closed the prompt.
    if (served.length > 0) await this.#house.settle();
    for (const one of this.#live) if (one.closesAt <= now) await this.#close(one);
    if (this.#nextAt <= now) await this.#add();
  }

  #launched(one: Told): void {
    const { now } = this.#house;
    one.state = 'launched';
    one.launchesAt = undefined;
    one.remindsAt = undefined;
    one.wakesAt = now + Math.ceil(this.#random() * 90) * minute;
    this.#waited += 1;
  }

  async #add(): Promise<void> {
    const { now } = this.#house;
    this.#nextAt = now + Math.floor(7 + 2 * this.#random()) * hour;
    const kind = ['remind', 'launch', 'auto'][this.made % 3] as string;
    const at = now + Math.ceil(this.#random() * 600) * minute;
    const text = `Prompt ${this.made}: ${randomUUID()} ${randomUUID()}`;
    const body = {
      prompt: text,
      ...(kind !== 'launch' && { not_before: new Date(at).toISOString() }),
      ...(kind === 'auto' && { auto_run: true, target_device_id: this.#device }),
    };
    const { id } = await this.#house.must('POST', '/v1/prompts', { body });
    this.made += 1;
    const one: Told = {
      id,
      text,
      state: 'open',
      remindsAt: kind === 'remind' ? at : undefined,
      launchesAt: kind === 'auto' ? at : undefined,
      // Some before they are due, or before the device wakes.
      closesAt: now + Math.ceil(this.#random() * 900) * minute + 7_000,
      closes: this.#random() < 0.5 ? 'done' : 'dismissed',
      wakesAt: undefined,
      isFailing: this.#random() < 0.2,
    };
    this.#live.push(one);
    if (kind !== 'launch') return;
    await this.#house.must('POST', `/v1/prompts/${id}/launch`, { body: { target_device_id: this.#device } });
    this.#launched(one);
  }

  /** The device takes what waits for it, and begins and ends its turn. */
  async #serve(one: Told): Promise<void> {
    one.wakesAt = undefined;
    const [control] = await this.#house.sql<{ id: string; session_id: string; withdrawn: boolean }[]>`
      select c.id, c.session_id, c.withdrawn_at is not null as withdrawn from prompts.prompts p
      join sessions.controls c on c.session_id = p.run_session_id and c.type = 'send' where p.id = ${one.id}`;
    if (!control) throw new Error(`the launch of ${one.text} has no control`);
    const asks = { device: this.#device, isPlain: true };
    const { session_id: session, id: turn } = control;
    await this.#house.ask('POST', `/v1/sessions/${session}/controls/${turn}/ack`, asks);
    const begin = { type: 'turn_start', turn_id: turn, role: 'user', text: one.text };
    const begun = await this.#append(session, 0, [begin]);
    const isClosed = one.state === 'done' || one.state === 'dismissed';
    if (begun !== (isClosed ? 'control_withdrawn' : 'ok'))
      throw new Error(`${one.text}: ${one.state}, and begun: ${begun}`);
    if (isClosed) return;
    this.#house.clock.leap(Math.ceil(this.#random() * 20) * 1_000);
    const data = one.isFailing ? { ok: false, error: 'no way' } : { ok: true };
    // Stored before its answer was lost, a repeat is answered as it was.
    const ended = await this.#append(session, 1, [{ type: 'turn_end', turn_id: turn, data }]);
    if (ended !== 'ok') throw new Error(`${one.text}: its turn could not be ended: ${ended}`);
    one.state = 'answered';
    this.told[one.isFailing ? 'failed' : 'answered'] += 1;
  }

  async #append(session: string, expected: number, events: readonly object[]): Promise<string> {
    const ask = { body: { expected_seq: expected, events }, device: this.#device, isPlain: true };
    const { status, body } = await this.#house.ask('POST', `/v1/sessions/${session}/events`, ask);
    return status === 200 ? 'ok' : String(body.error?.code);
  }

  async #close(one: Told): Promise<void> {
    one.closesAt = Infinity;
    const { status, body } = await this.#house.ask('PATCH', `/v1/prompts/${one.id}`, { body: { status: one.closes } });
    // The answer to the first time was lost.
    const isRepeat = body.error?.code === 'prompt_closed' && body.error.details.status === one.closes;
    if (status !== 200 && !isRepeat) throw new Error(`${one.text} is not closed: ${status} ${JSON.stringify(body)}`);
    one.state = one.closes;
    one.remindsAt = undefined;
    one.launchesAt = undefined;
  }

  /** How many of each kind of notification were made since this was asked last. */
  notified(): Map<string, readonly [number, number]> {
    const { due, answered, failed } = this.told;
    Object.assign(this.told, { due: 0, answered: 0, failed: 0 });
    const waited = this.#waited;
    this.#waited = this.#live.filter(({ wakesAt }) => wakesAt !== undefined).length;
    return new Map([
      ['prompt.waiting', [0, waited] as const],
      ['prompt.due', [due, due] as const],
      ['prompt.answered', [answered, answered] as const],
      ['prompt.failed', [failed, failed] as const],
    ]);
  }

  /** Prompts that are in another state than their story says; those that are over for long are deleted. */
  async check(): Promise<string[]> {
    const rows = await this.#house.sql<{ id: string; state: string }[]>`select id, state from prompts.prompts`;
    const states = new Map(rows.map(({ id, state }) => [id, state]));
    const found = this.#live
      .filter(({ id, state }) => states.get(id) !== state)
      .map(({ id, text, state }) => `${text} is ${states.get(id)}, not ${state}`);
    const over = this.#live.filter(({ closesAt, wakesAt }) => closesAt === Infinity && wakesAt === undefined);
    for (const { id } of over) await this.#house.must('DELETE', `/v1/prompts/${id}`);
    this.#live = this.#live.filter((one) => !over.includes(one));
    if (rows.length > this.#live.length + over.length) found.push(`there are ${rows.length} prompts`);
    return found;
  }
}
