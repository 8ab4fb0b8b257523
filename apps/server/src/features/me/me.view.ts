import type { login, me, passkey } from '@svc/contract';
import type { z } from 'zod';
import { notFound } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/http/context.ts';
import { findProfile } from '../accounts/index.ts';
import { countRecoveryCodes, hasPassword, type listLogins, listPasskeys, type PasskeyRow } from '../auth/index.ts';
import { orgsOf } from '../orgs/index.ts';

/** The caller in the words of the API. */
export async function meOf({ db, actor }: Pick<Context, 'db' | 'actor'>): Promise<z.input<typeof me>> {
  const { accountId, kind, credentialId, scopes, toolLevel, authTime, features } = actor;
  const [profile, orgs, password, passkeys, codes] = await Promise.all([
    findProfile(db, accountId),
    orgsOf(db, accountId),
    hasPassword(db, accountId),
    listPasskeys(db, accountId),
    countRecoveryCodes(db, accountId),
  ]);
  if (!profile) throw notFound('account');
  const { id, email, email_verified, name, locale, tz, created_at, operator } = profile;
  return {
    account: {
      id,
      email,
      email_verified,
      name,
      ...(locale !== null && { locale }),
      ...(tz !== null && { tz }),
      created_at,
    },
    actor: {
      // No route here takes the token of an app.
      kind: kind === 'login' ? kind : 'key',
      id: credentialId,
      scopes: [...scopes],
      tool_level: toolLevel,
      ...(authTime !== undefined && { auth_time: new Date(authTime).toISOString() }),
    },
    features: { ...features },
    operator,
    orgs,
    sign_in: { password, passkeys: passkeys.length, recovery_codes_left: codes },
  };
}

/** A passkey in the words of the API. */
export const toPasskey = ({ id, name, created_at, last_used_at, backed_up }: PasskeyRow): z.input<typeof passkey> => ({
  id,
  name,
  created_at,
  ...(last_used_at !== null && { last_used_at }),
  backed_up,
});

/** A signed-in browser in the words of the API; `current`: the id of the one that asks. */
export const toLogin = (
  {
    id,
    name,
    platform,
    created_at,
    last_seen_at,
    expires_at,
    network,
    amr,
  }: Awaited<ReturnType<typeof listLogins>>[number],
  current: string,
): z.input<typeof login> => ({
  id,
  name,
  platform,
  created_at,
  last_seen_at,
  expires_at,
  network,
  amr,
  current: id === current,
});
