import { isSvcError } from '@svc/sdk';
import type { OutputTail } from '../runs/tail.ts';
import type { NewEvent, SessionWriter } from './writer.ts';

/** A turn's text is sent after this time, or at this length. */
const flushMs = 500;
const flushUnits = 16_000;
/** Of one turn; the end of a run says that there was more. */
const mostUnits = 1_000_000;
/** A lease lasts 30 s; a silent turn learns from a renewal that its session was deleted. */
const renewMs = 5_000;

/** Reports what an agent says in one turn, as it comes, in the order in which it came. */
export class TurnReport {
  readonly #id: string;
  readonly #prompt: string;
  readonly #writer: SessionWriter;
  #text = '';
  #sent = 0;
  #total = 0;
  #timer: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;
  /** One append at a time. */
  #last: Promise<void> = Promise.resolve();
  #failure: unknown;
  readonly #onFailure: () => void;

  /** `onFailure` is called when nothing more of the turn can be stored. */
  constructor(id: string, text: string, writer: SessionWriter, onFailure: () => void = () => {}) {
    this.#id = id;
    this.#prompt = text;
    this.#writer = writer;
    this.#onFailure = onFailure;
  }

  /** Begins the turn: only then may its command start. Throws `SessionOver` when the gateway refuses it. */
  async begin(): Promise<void> {
    await this.#writer.append([{ type: 'turn_start', turn_id: this.#id, role: 'user', text: this.#prompt }]);
    this.#renewal = setInterval(() => void this.#renew(), renewMs).unref();
  }

  /** Follows what a command writes. */
  readonly follow = (tail: OutputTail): void => {
    tail.follow((text) => {
      if (this.#total >= mostUnits) return;
      this.#total += text.length;
      this.#text += text;
      if (this.#text.length >= flushUnits) this.#flush();
      else this.#timer ??= setTimeout(() => this.#flush(), flushMs);
    });
  };

  /** Ends the turn once all that it said is stored. Throws what kept it from being stored. */
  async end(outcome: { ok: boolean; exit_code?: number | undefined; error?: string | undefined }): Promise<void> {
    this.#flush();
    clearInterval(this.#renewal);
    const { ok, exit_code, error } = outcome;
    const data = {
      ok,
      ...(exit_code !== undefined && { exit_code }),
      ...(error !== undefined && { error }),
      ...(this.#total >= mostUnits && { cut: true }),
    };
    await (this.#last = this.#append([{ type: 'turn_end', turn_id: this.#id, data }]));
    if (this.#failure !== undefined) throw this.#failure;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#text.slice(0, mostUnits);
    this.#text = '';
    if (text === '') return;
    const id = `${this.#id}:${(this.#sent += 1)}`;
    this.#last = this.#append([{ type: 'delta', turn_id: this.#id, id, role: 'assistant', text: text.toWellFormed() }]);
  }

  async #renew(): Promise<void> {
    try {
      await this.#writer.renew();
    } catch (error) {
      // A silent turn learns here that its session was deleted.
      if (isSvcError(error, 'not_found')) this.#onFailure();
    }
  }

  async #append(events: NewEvent[]): Promise<void> {
    await this.#last;
    if (this.#failure !== undefined) return;
    try {
      await this.#writer.append(events);
    } catch (error) {
      this.#failure = error;
      this.#onFailure();
    }
  }
}
