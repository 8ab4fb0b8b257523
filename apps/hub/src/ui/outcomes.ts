/** What a press came to: it was done, it was refused, or nobody knows yet. */
export interface Outcome {
  came: 'done' | 'refused' | 'unknown';
  /** For the person who pressed. */
  text: string;
}

export const done = (text: string): Outcome => ({ came: 'done', text });
export const refused = (text: string): Outcome => ({ came: 'refused', text });
export const unknown = (text: string): Outcome => ({ came: 'unknown', text });

/** Whether an answer of the API says by itself that nothing was done: with 200 too. */
type IsTelling<T> = T extends { ok: unknown } | { queued: unknown } | { sent: unknown } | { begins: unknown } | string
  ? true
  : false;

/**
 * What is said after a press. A text alone will do where every answer is a success, since the API refuses by an
 * error. An answer that tells more must be looked at.
 */
export type Said<T> = true extends IsTelling<T> | ([boolean] extends [T] ? true : false)
  ? (result: T) => Outcome
  : string | ((result: T) => Outcome);
