import { slugPattern } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Address, PingBatches } from './heartbeats.batch.ts';
import { signalOf } from './heartbeats.rules.ts';
import { provision } from './heartbeats.slugs.ts';
import { hashPingKey, hashToken } from './heartbeats.token.ts';

/** Whom a path names: a monitor by its token, or by its slug under a ping key. */
type Addressed = { token: string } | { pingKey: string; slug: string };

/** Takes a ping whose path ends with `word`: answers once it is stored, and 404 for an address that nobody has. */
export async function take(
  batches: PingBatches,
  { kernel, anything }: Context,
  addressed: Addressed,
  word: string,
  query: { rid?: string | string[] | undefined; create?: string | undefined },
): Promise<'OK'> {
  const meant = signalOf(word);
  if (meant === undefined) throw notFound('route');
  const arrival = { ...meant, rid: runOf(query.rid), body: anything };
  if ('token' in addressed) {
    const hash = hashToken(kernel.keyring, addressed.token);
    if (hash && (await batches.add({ ...arrival, hash }))) return 'OK';
    throw notFound('heartbeat');
  }
  const { slug } = addressed;
  const hash = hashPingKey(kernel.keyring, addressed.pingKey);
  if (!hash) throw notFound('heartbeat');
  const address: Address = { hash, slug };
  // A text that is no slug is not looked up: the database takes no NUL.
  const add = (): Promise<boolean> | false => slugPattern.test(slug) && batches.add({ ...arrival, ...address });
  if (await add()) return 'OK';
  if (query.create === '1' && (await provision(kernel, hash, slug)) && (await add())) return 'OK';
  throw notFound('heartbeat');
}

const runId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The id of a run; a ping whose id is empty or none counts without it: it says something all the same. */
const runOf = (given: string | string[] | undefined): string | null =>
  typeof given === 'string' && runId.test(given) ? given.toLowerCase() : null;
