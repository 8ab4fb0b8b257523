import { createHash, randomUUID } from 'node:crypto';
import { BrokenSeal, keyOfText, openUnder, type Sealed, sealUnder } from '../base/crypto.ts';
import type { Kernel } from '../kernel.ts';
import { systemClock } from '../base/clock.ts';
import { ApiError, badRequest } from '../base/errors.ts';
import type { Db } from '../db/db.ts';
import { LongAnswer } from './long.ts';

/** A request that carries an `Idempotency-Key`. */
export interface IdempotentRequest {
  accountId: string;
  /** The API key that asks: what was answered to one is not answered to another. */
  keyId: string;
  /** `operationId`. */
  route: string;
  key: string;
  /** Path and body: the same key with another request is a mistake. */
  url: string;
  body: unknown;
  /** SHA-256 of the body's bytes. */
  bodyHash?: Buffer | undefined;
  /** The text of the caller's API key, where the answer holds a secret: nobody without it opens what is kept. */
  credential?: string | undefined;
}

/** A response as it is stored and replayed. */
export interface StoredResponse {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: unknown;
}

const longestKey = 255;
/** Stored answers. */
export const sealedAnswers: Sealed = { purpose: 'idempotency', table: 'kernel.idempotency', column: 'response' };
/** A longer answer is not kept: it is read again by its own route. */
const mostBytes = 1024 * 1024;
/** Limits of the answers kept for one account in a day: more than a client needs that numbers each of its requests. */
const mostAnswersOfDay = 200_000;
const mostBytesOfDay = 64 * 1024 * 1024;

/** Why an answer is not kept, in the words for a repeat. */
const notKept = {
  // Of the version before, which kept none of them.
  secret:
    'its answer held a secret, which is shown once. List what it made, delete that, and use a fresh Idempotency-Key',
  large: 'its answer was over 1 MiB and is not kept. Read what it made by its own route',
  broken: 'its answer cannot be opened any more. Read what it made by its own route',
  lost: 'its gateway or the database ended before its answer was kept. Read what it made by its own route',
  quota: 'its answer is not kept: 64 MiB of this account were kept today. Read what it made by its own route',
} as const;

/** Validates the header's value (kernel: Every response; at most 255 characters). */
export function checkIdempotencyKey(key: string): void {
  if (key.length < 1 || key.length > longestKey) {
    const message = `must have 1 to ${longestKey} characters`;
    throw badRequest(`idempotency-key ${message}`, { 'idempotency-key': [message] });
  }
}

/**
 * Runs `work` once for a key: a repeat within 24 h answers what was stored. Only executed results are stored, never a
 * refusal or a fault, so those may be tried again. A first run whose gateway died is not waited for; when it had committed
 * something (`begunOnce`) the repeat is told so, and does it no second time.
 */
export async function once(
  kernel: Kernel,
  request: IdempotentRequest,
  work: () => Promise<StoredResponse>,
): Promise<StoredResponse & { replayed: boolean }> {
  const claimId = randomUUID();
  let stored: StoredResponse | undefined;
  try {
    stored = await claim(kernel, request, claimId);
  } catch (error) {
    // It may have the key although nobody heard so; nothing of the request is done.
    if (!(error instanceof ApiError)) await insist(kernel, () => unclaim(kernel, request, claimId));
    throw error;
  }
  if (stored) return { ...stored, replayed: true };
  let response: StoredResponse;
  try {
    response = await work();
  } catch (error) {
    // A refusal of ours has done nothing. Of a connection that broke, its transaction says whether it was committed.
    const isRefused = error instanceof ApiError;
    await insist(kernel, () => release(kernel, request, isRefused));
    throw error;
  }
  try {
    await store(kernel, request, response);
  } catch (err) {
    kernel.log.error({ err, route: request.route }, 'a response was not stored for its Idempotency-Key');
    await insist(kernel, () => forgo(kernel, request));
  }
  return { ...response, replayed: false };
}

/** Notes, in a transaction of the request, that it is committed with something of it: a repeat must not do it again. */
export const begunOnce =
  ({ gateways }: Kernel, { accountId, route, key }: IdempotentRequest) =>
  async (db: Db): Promise<void> => {
    await db`select kernel.begin_once(${accountId}, ${route}, ${key}, ${gateways.id})`;
  };

const own = ({ sql, gateways }: Kernel, { accountId, route, key }: IdempotentRequest) => sql`
  account_id = ${accountId} and route = ${route} and key = ${key} and gateway_id = ${gateways.id} and status is null`;

/** Gives the key free for another try, unless something of the request may be done. */
async function release(kernel: Kernel, request: IdempotentRequest, isRefused: boolean): Promise<void> {
  const { sql } = kernel;
  await sql`delete from kernel.idempotency where ${own(kernel, request)} and (${isRefused} or not begun)`;
  if (!isRefused) await forgo(kernel, request);
}

/** Gives the key free again that this claim took, and no other one of this gateway. */
async function unclaim(kernel: Kernel, request: IdempotentRequest, claimId: string): Promise<void> {
  await kernel.sql`
    delete from kernel.idempotency where ${own(kernel, request)} and not begun and headers->>'claim' = ${claimId}`;
}

/** Notes that the request was done, and that its answer is lost. */
async function forgo(kernel: Kernel, request: IdempotentRequest): Promise<void> {
  await kernel.sql`update kernel.idempotency set status = 0, not_kept = 'lost' where ${own(kernel, request)}`;
}

const againMs = 1_000;
const longestAwayMs = 600_000;

/** Does it now, or each second until it is done, while the database is away: until then repeats are told to try again. */
async function insist(parts: Pick<Kernel, 'log'>, work: () => Promise<void>, leftMs = longestAwayMs): Promise<void> {
  try {
    await work();
  } catch (err) {
    if (leftMs <= 0) parts.log.error({ err }, 'an Idempotency-Key was not given free; it is so when this gateway ends');
    else systemClock.after(againMs, () => void insist(parts, work, leftMs - againMs));
  }
}

async function store(
  kernel: Kernel,
  request: IdempotentRequest,
  { status, headers, body }: StoredResponse,
): Promise<void> {
  const { sql, keyring, gateways } = kernel;
  const { accountId, route, key } = request;
  await gateways.prove();
  const text = body instanceof LongAnswer ? Buffer.concat(body.pieces) : Buffer.from(JSON.stringify(body ?? null));
  const bytes = text.length;
  let reason: keyof typeof notKept | null = bytes > mostBytes ? 'large' : null;
  if (reason === null && (await countUse(kernel, accountId, { bytes })).bytes > mostBytesOfDay) reason = 'quota';
  const own = keyFor(request);
  const sealed = reason === null ? keyring.seal(sealedAnswers, own ? sealUnder(own, text) : text) : null;
  const kept = reason === null ? (headers ?? {}) : {};
  await sql`
    update kernel.idempotency
    set status = ${status}, headers = ${sql.json(kept)}, response = ${sealed}, not_kept = ${reason}
    where account_id = ${accountId} and route = ${route} and key = ${key} and gateway_id = ${gateways.id}`;
}

/**
 * A second seal for an answer with a secret: neither the database with the master key nor another key of the account shows
 * it; the same caller gets it again when the first answer was lost.
 */
const keyFor = ({ credential, route, key }: IdempotentRequest): Buffer | undefined =>
  credential === undefined ? undefined : keyOfText(credential, key, `replay:${route}`);

/** Counts what the account has stored today, UTC. */
async function countUse(
  { sql }: Kernel,
  accountId: string,
  { answers = 0, bytes = 0 }: { answers?: number; bytes?: number },
): Promise<{ answers: number; bytes: number }> {
  const [row] = await sql<{ answers: number; bytes: number }[]>`
    insert into kernel.idempotency_use as u (account_id, day, answers, bytes)
    values (${accountId}, (now() at time zone 'UTC')::date, ${answers}, ${bytes})
    on conflict (account_id, day) do update set answers = u.answers + excluded.answers, bytes = u.bytes + excluded.bytes
    returning answers, bytes`;
  return row ?? { answers: 0, bytes: 0 };
}

interface StoredRow {
  key_id: string | null;
  request_hash: Buffer;
  status: number | null;
  headers: Record<string, string> | null;
  response: Buffer | null;
  not_kept: keyof typeof notKept | null;
}

const hashOf = (url: string, body: Buffer | string): Buffer =>
  createHash('sha256').update(url).update('\0').update(body).digest();

/**
 * Takes the key for this request (undefined), or answers the stored response, or throws why neither is possible. Until there
 * is an answer with headers of its own, the row's have the id of the claim.
 */
async function claim(kernel: Kernel, request: IdempotentRequest, claimId: string): Promise<StoredResponse | undefined> {
  const { accountId, keyId, route, key, url, bodyHash } = request;
  const { sql, gateways } = kernel;
  const hash = hashOf(url, bodyHash ?? '');
  const claimed = await sql`
    insert into kernel.idempotency as i (account_id, key_id, route, key, request_hash, gateway_id, headers)
    values (${accountId}, ${keyId}, ${route}, ${key}, ${hash}, ${gateways.id}, ${sql.json({ claim: claimId })})
    on conflict (account_id, route, key) do update set
      key_id = excluded.key_id, request_hash = excluded.request_hash, gateway_id = excluded.gateway_id, status = null,
      headers = excluded.headers, response = null, not_kept = null, begun = false, expires_at = default
    where i.expires_at < now()
      or (i.status is null and not i.begun and i.request_hash = excluded.request_hash and i.key_id = excluded.key_id
        and not exists (select 1 from kernel.gateways g where g.id = i.gateway_id and g.lease_until > now()))
    returning 1`;
  if (claimed.length > 0) {
    await refuseOverQuota(kernel, request);
    return undefined;
  }
  const [row] = await sql<StoredRow[]>`
    select key_id, request_hash, status, headers, response,
      case when status is null and begun and not exists
        (select 1 from kernel.gateways g where g.id = gateway_id and g.lease_until > now()) then 'lost' else not_kept
      end as not_kept
    from kernel.idempotency where account_id = ${accountId} and route = ${route} and key = ${key}`;
  if (!row) throw stillRuns();
  return replayOf(kernel, request, { ...row, isSame: row.request_hash.equals(hash) });
}

async function refuseOverQuota(kernel: Kernel, { accountId, route, key }: IdempotentRequest): Promise<void> {
  if ((await countUse(kernel, accountId, { answers: 1 })).answers <= mostAnswersOfDay) return;
  await kernel.sql`
    delete from kernel.idempotency
    where account_id = ${accountId} and route = ${route} and key = ${key} and gateway_id = ${kernel.gateways.id}`;
  const message = `${mostAnswersOfDay} requests of this account had an Idempotency-Key today; go on tomorrow, or without`;
  throw new ApiError('quota_exceeded', message, { headers: { 'x-should-retry': 'false', 'retry-after': '3600' } });
}

function replayOf(
  { keyring }: Kernel,
  request: IdempotentRequest,
  row: StoredRow & { isSame: boolean },
): StoredResponse {
  const { keyId, url, body } = request;
  if (row.key_id !== null && row.key_id !== keyId) {
    throw new ApiError('idempotency_mismatch', 'another API key used this Idempotency-Key; use a fresh one');
  }
  // The version before hashed the body as it was written again.
  const wasSame = row.key_id === null && row.request_hash.equals(hashOf(url, JSON.stringify(body) ?? ''));
  if (!row.isSame && !wasSame) {
    throw new ApiError('idempotency_mismatch', 'this Idempotency-Key was used with another request; use a fresh key');
  }
  if (row.not_kept !== null) throw new ApiError('answer_not_kept', `the request was done; ${notKept[row.not_kept]}`);
  if (row.status === null || row.response === null) throw stillRuns();
  try {
    const own = keyFor(request);
    const opened = keyring.open(sealedAnswers, row.response);
    const text = own ? openUnder(own, opened, sealedAnswers.purpose) : opened;
    return { status: row.status, headers: row.headers ?? {}, body: JSON.parse(text.toString()) as unknown };
  } catch (error) {
    if (!(error instanceof BrokenSeal)) throw error;
    throw new ApiError('answer_not_kept', `the request was done; ${notKept.broken}`);
  }
}

const stillRuns = (): ApiError =>
  new ApiError('idempotency_in_flight', 'the first request with this Idempotency-Key still runs; try again', {
    headers: { 'retry-after': '1' },
  });
