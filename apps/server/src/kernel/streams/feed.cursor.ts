import { createHash } from 'node:crypto';

/**
 * A place in the order of an account's changes: transaction and number as 16 hex digits each, so that text compares as they
 * do. A place that was given out is that of a change that is on disk, or before all: after a crash no other change gets it.
 */
export type Position = string;

/** Before every change. */
export const beginning: Position = '0'.repeat(32);

const digits = (value: bigint): string => value.toString(16).padStart(16, '0');

/** The place of a change. */
export const positionOf = (xid: string, seq: number): Position => digits(BigInt(xid)) + digits(BigInt(seq));

/** Transaction and number of a place. */
export const partsOf = (position: Position): { xid: string; seq: string } => ({
  xid: BigInt(`0x${position.slice(0, 16)}`).toString(),
  seq: BigInt(`0x${position.slice(16)}`).toString(),
});

const tagBytes = 8;

/** Numbers of changes are signed in the database: no change has a higher one. */
const mostSeq = digits(2n ** 63n - 1n);

/**
 * Cursors of one account: a place behind a tag of account and installation, 24 bytes in base64url. Another account's cursor, and
 * one from before a restore, has another tag. It is no secret: it opens nothing.
 */
export class Cursors {
  readonly #tag: Buffer;

  /** `epoch` is random bytes of the installation, new after a restore. */
  constructor(epoch: Buffer, accountId: string) {
    this.#tag = createHash('sha256').update(epoch).update(accountId).digest().subarray(0, tagBytes);
  }

  encode(position: Position): string {
    return Buffer.concat([this.#tag, Buffer.from(position, 'hex')]).toString('base64url');
  }

  /** The place of a cursor; undefined when it is none of this account's. */
  decode(cursor: string): Position | undefined {
    const bytes = Buffer.from(cursor, 'base64url');
    if (!bytes.subarray(0, tagBytes).equals(this.#tag)) return undefined;
    const position = bytes.subarray(tagBytes).toString('hex');
    return position.slice(16) > mostSeq ? undefined : position;
  }
}
