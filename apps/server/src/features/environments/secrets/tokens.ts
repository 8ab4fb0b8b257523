import { createHash, randomBytes } from 'node:crypto';
import type { Db } from '../../../kernel/db/db.ts';
import type { Instant } from '../../../kernel/db/instant.ts';
import { putToken } from './tokens.sql.ts';

/** Of a token's text; 32 characters follow (document 3, Authentication 2). */
const tokenPrefix = 'svc_env_';
const randomPart = 24;
const validMs = 30 * 60_000;

/** Under which a token is stored. */
export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Whose a token is; a token without a key is the platform's own, for a machine that it makes. */
interface TokenOf {
  environmentId: string;
  keyId: string | null;
  createdBy: string;
}

/** Makes a token for one enrolment within 30 minutes, in place of the one before. */
export const mint = (tx: Db, now: Instant, of: TokenOf) => mintAs(tx, now, randomBytes(randomPart), of);

/** The same of given random bytes, 24 at least. */
export async function mintAs(
  tx: Db,
  now: Instant,
  random: Buffer,
  of: TokenOf,
): Promise<{ token: string; expiresAt: string }> {
  const token = tokenPrefix + random.subarray(0, randomPart).toString('base64url');
  const expiresAt = new Date(now.ms + validMs).toISOString();
  await putToken(tx, { ...of, hash: hashOfToken(token), expiresAt });
  return { token, expiresAt };
}
