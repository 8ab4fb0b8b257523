import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AskedName } from './names.ts';

/** An answer in place of one from inside: a refusal, a redirect to where visitors sign in, a cookie for a ticket. */
export interface PlainAnswer {
  readonly status: number;
  /** The body; plain text unless the headers say otherwise. A client that wants a WebSocket gets the headers alone. */
  readonly text: string;
  readonly headers?: Readonly<OutgoingHttpHeaders> | undefined;
}

/** Where a name leads. */
export interface NameTarget {
  /** Names it among those of its owner, to whom it is shown in `stillValid`. At most 64 connections lead to one. */
  readonly id: string;
  /** Whose connections they are. An account has at most 512. */
  readonly accountId: string;
  /**
   * Somebody else than that account; without one of its own it is told apart by its network. Visitors have places beside those of
   * the account: 64 a port, 256 of all its ports.
   */
  readonly visitor?: { readonly accountId: string | undefined };
  /** The machine or sandbox in which it is. At most 128 connections lead to one. */
  readonly place: string;
  /** The port on which the page inside listens; it sees itself as `localhost` with this port. */
  readonly port: number;
  /** Milliseconds until what is open ends; unset: when `stillValid` says so. */
  readonly leftMs?: number;
  /** See `ForwardedPage`. */
  readonly cookiePrefix: string;
  /** See `ForwardedPage`. */
  readonly visitorCookie?: string;
  /** Connects with the port; a failure is a 502, with the words of an `ApiError` where that says more. */
  readonly dial: () => Promise<Duplex>;
}

/** A feature to which some names of the listener belong. */
export interface NameOwner {
  /** Tells its names and places apart from those of other owners. */
  readonly name: string;
  /** The text of a 502. */
  readonly unreachable: string;
  /** The text of a 403: what to do with a name that is not valid, or not for whoever asks. */
  readonly invalid?: string;
  /** Whether a name has the form of its names; nothing is looked up. */
  owns(asked: AskedName): boolean;
  /**
   * Where a name leads for this request, or what is answered in place of that. Undefined for a name that is not valid: a
   * 403, and past a hundred of them in a minute from one address a 429.
   */
  find(asked: AskedName, request: IncomingMessage): Promise<NameTarget | PlainAnswer | undefined>;
  /** Which of these targets may still be reached. Asked every 3 s for those with open connections: the others' end. */
  stillValid(ids: readonly string[]): Promise<readonly string[]>;
}
