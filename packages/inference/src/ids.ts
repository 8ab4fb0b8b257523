import { createHash } from 'node:crypto';
import type { Protocol } from './protocol.ts';

const prefixes: Readonly<Record<Protocol, string>> = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' };
const known = /^(?:chatcmpl-|msg_|resp_)/;

/** The id of an answer as its client's protocol begins it: clients tell by it what they have. */
export const idAs = (protocol: Protocol, id: string): string =>
  id.startsWith(prefixes[protocol]) ? id : prefixes[protocol] + id.replace(known, '');

/** What the strictest maker of each protocol takes as the id of a call. */
const takenIds: Readonly<Record<Protocol, RegExp>> = {
  chat: /^[^]{0,40}$/,
  messages: /^[a-zA-Z0-9_-]{0,64}$/,
  responses: /^[^]{0,64}$/,
};

/**
 * The id of a call as makers of a protocol take it, for the call and for its result alike: in a conversation that
 * moved from one maker to another it is the former one's, such as `functions.weather:0`.
 */
export const callIdAs = (protocol: Protocol, id: string): string =>
  takenIds[protocol].test(id) ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;

/** Calls of one answer: far more than a model makes at once, and few enough to be told apart in no time. */
export const mostCalls = 1_024;
/** Why an answer with more of them is refused. */
export const tooManyCalls = 'the upstream made over 1,024 calls of tools in one answer';

/** Ids of the calls of one answer: a client and the results that it sends know a call by its id alone. */
export class CallIds {
  readonly #taken = new Set<string>();
  /** Of ids that stand twice the next number behind them. */
  readonly #counts = new Map<string, number>();
  readonly #lead: string;

  /** `answerId` is in the ids that are made, as each answer of a conversation has a first call. */
  constructor(answerId = '') {
    const part = answerId.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-24);
    this.#lead = part === '' ? 'call' : `call_${part}`;
  }

  /** The peer's id, unless it has none or gave it to another call of this answer. */
  unique(given: string | undefined): string {
    const wanted = given || `${this.#lead}_${this.#taken.size}`;
    let id = wanted;
    let count = this.#counts.get(wanted) ?? 2;
    for (; this.#taken.has(id); count++) id = `${wanted}_${count}`;
    if (id !== wanted) this.#counts.set(wanted, count);
    this.#taken.add(id);
    return id;
  }

  /** The answer has more calls than it may have. */
  get isTooMany(): boolean {
    return this.#taken.size > mostCalls;
  }
}
