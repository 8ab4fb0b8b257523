import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from '../base/errors.ts';
import { headOf } from './headers.ts';
import type { NameOwner, PlainAnswer } from './owners.ts';

/** The text of a 403 where the owner has none. */
export const invalid = 'This address is not valid.';
/** Nothing is there, for a reason that may have words. */
export const unreachable = ({ owner }: { owner: NameOwner }, why?: unknown): PlainAnswer => ({
  status: 502,
  text: why instanceof ApiError ? why.message : owner.unreachable,
});
/** The answer to a request that failed. */
export const failureOf = (found: { owner: NameOwner }, err: unknown): PlainAnswer =>
  err instanceof ApiError ? { status: err.status, text: err.message } : unreachable(found);
/** All places are taken. */
export const tooMany: PlainAnswer = {
  status: 503,
  text: 'This address has too many connections; close some, or try again in a moment.',
  headers: { 'retry-after': '1' },
};

/** The connection of a request that is refused carries no further one: the next may be a stranger's too. */
export function answer(response: ServerResponse, { status, text, headers }: PlainAnswer): void {
  const plain = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' };
  response.writeHead(status, { ...plain, 'referrer-policy': 'no-referrer', ...headers });
  response.end(`${text}\n`);
}

/** The same for a client that wanted a WebSocket. */
export function refuse(socket: Duplex, { status, headers = {} }: PlainAnswer): void {
  socket.end(headOf(status, { ...headers, 'content-length': '0' }));
}
