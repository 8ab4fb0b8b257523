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

/** Ids of the calls of one answer: a client and the results that it sends know a call by its id alone. */
export class CallIds {
  readonly #taken = new Set<string>();
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
    for (let count = 2; this.#taken.has(id); count++) id = `${wanted}_${count}`;
    this.#taken.add(id);
    return id;
  }
}
