import { createHash } from 'node:crypto';
import type { Kernel } from '../kernel.ts';
import { ApiError, badRequest } from './errors.ts';

/** A request that carries an `Idempotency-Key`. */
export interface IdempotentRequest {
  accountId: string;
  /** `operationId`. */
  route: string;
  key: string;
  /** Path and body: the same key with another request is a mistake. */
  url: string;
  body: unknown;
}

/** A response as it is stored and replayed. */
export interface StoredResponse {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: unknown;
}

const longestKey = 255;
const purpose = 'idempotency';

/** Validates the header's value (kernel: Every response; at most 255 characters). */
export function checkIdempotencyKey(key: string): void {
  if (key.length < 1 || key.length > longestKey) {
    const message = `must have 1 to ${longestKey} characters`;
    throw badRequest(`idempotency-key ${message}`, { 'idempotency-key': [message] });
  }
}

/**
 * Runs `work` once for a key: a repeat within 24 h answers what was stored. Only executed results are stored, never a
 * refusal or a fault, so those may be tried again. A first run whose gateway died is not waited for.
 */
export async function once(
  kernel: Kernel,
  request: IdempotentRequest,
  work: () => Promise<StoredResponse>,
): Promise<StoredResponse & { replayed: boolean }> {
  const hash = createHash('sha256')
    .update(request.url)
    .update('\0')
    .update(JSON.stringify(request.body) ?? '')
    .digest();
  const stored = await claim(kernel, request, hash);
  if (stored) return { ...stored, replayed: true };
  let response: StoredResponse;
  try {
    response = await work();
  } catch (error) {
    await kernel.sql`
      delete from kernel.idempotency
      where account_id = ${request.accountId} and route = ${request.route} and key = ${request.key}
        and gateway_id = ${kernel.gateways.id} and status is null`;
    throw error;
  }
  try {
    const sealed = kernel.keyring.seal(purpose, Buffer.from(JSON.stringify(response.body ?? null)));
    await kernel.sql`
      update kernel.idempotency set status = ${response.status}, headers = ${kernel.sql.json(response.headers ?? {})},
        response = ${sealed}
      where account_id = ${request.accountId} and route = ${request.route} and key = ${request.key}
        and gateway_id = ${kernel.gateways.id}`;
  } catch (err) {
    // It was done: the claim stays, so that a repeat does not do it again while this gateway lives.
    kernel.log.error({ err, route: request.route }, 'a response was not stored for its Idempotency-Key');
  }
  return { ...response, replayed: false };
}

interface StoredRow {
  request_hash: Buffer;
  status: number | null;
  headers: Record<string, string> | null;
  response: Buffer | null;
}

/** Takes the key for this request (undefined), or answers the stored response, or throws why neither is possible. */
async function claim(kernel: Kernel, request: IdempotentRequest, hash: Buffer): Promise<StoredResponse | undefined> {
  const { accountId, route, key } = request;
  const { sql, gateways, keyring } = kernel;
  const claimed = await sql`
    insert into kernel.idempotency as i (account_id, route, key, request_hash, gateway_id)
    values (${accountId}, ${route}, ${key}, ${hash}, ${gateways.id})
    on conflict (account_id, route, key) do update set
      request_hash = excluded.request_hash, gateway_id = excluded.gateway_id, status = null, headers = null,
      response = null,
      expires_at = default
    where i.expires_at < now() or (i.status is null and i.request_hash = excluded.request_hash and not exists
      (select 1 from kernel.gateways g where g.id = i.gateway_id and g.lease_until > now()))
    returning 1`;
  if (claimed.length > 0) return undefined;
  const [row] = await sql<StoredRow[]>`
    select request_hash, status, headers, response from kernel.idempotency
    where account_id = ${accountId} and route = ${route} and key = ${key}`;
  if (row && !row.request_hash.equals(hash)) {
    throw new ApiError('idempotency_mismatch', 'this Idempotency-Key was used with another request; use a fresh key');
  }
  if (row?.status == null || row.response === null) {
    throw new ApiError('idempotency_in_flight', 'the first request with this Idempotency-Key still runs; try again', {
      headers: { 'retry-after': '1' },
    });
  }
  return {
    status: row.status,
    headers: row.headers ?? {},
    body: JSON.parse(keyring.open(purpose, row.response).toString()),
  };
}
