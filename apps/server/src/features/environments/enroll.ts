import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { Strangers } from '../../kernel/mount/strangers.ts';
import { bySystem, type Who } from '../../kernel/records/audit.ts';
import { findTerms, scopesWithin } from '../keys/index.ts';
import { isAtLeast } from './environments.access.ts';
import { issueMachineKey } from './environments.machines.ts';
import { findSeen, lockEnvironment } from './environments.sql.ts';
import type { EnvironmentRow } from './environments.rows.ts';
import type { Doer, Environments } from './environments.store.ts';
import { mayRun } from './hours/hours.sql.ts';
import { hashOfToken } from './secrets/tokens.ts';
import { environmentOfToken, lockToken, takeToken, type TokenRow } from './secrets/tokens.sql.ts';

const notValid = (): ApiError =>
  new ApiError(
    'invalid_api_key',
    'this token was used, replaced, is over 30 minutes old, or is none; a maintainer makes another',
  );

/** Takes a token once (document 3, Authentication 2). A repeat by the same device is answered like the first. */
export function enroll(kernel: Kernel, environments: Environments): Operation {
  const strangers = new Strangers(kernel, { what: 'tokens of environments' });
  return operation(contract.environments.enroll, (context, { body }) => {
    // Before the database is asked: anybody may call this.
    strangers.check(context.address);
    const hash = hashOfToken(body.token);
    return context.transaction(async (tx) => {
      // In the order of those who destroy it or make another token: they hold the environment first.
      const named = await environmentOfToken(tx, hash);
      if (named !== undefined) await lockEnvironment(tx, named);
      const token = await lockToken(tx, hash);
      const now = await readNow(tx, context.clock);
      const isTaken = token !== undefined && token.used_by !== null && token.used_by !== body.device_id;
      if (!token || isTaken || Date.parse(token.expires_at) <= now.ms)
        throw strangers.refuse(context.address, notValid());
      const answer = { environment_id: token.environment_id, relay_url: context.kernel.config.relayUrl };
      if (token.used_by !== null && token.key_id !== null) return answer;
      const row = token.key_id === null ? await managedOf(tx, token) : await environmentOf(tx, token, token.key_id);
      if (!row) throw strangers.refuse(context.address, notValid());
      // The answer with its key was lost: another key takes its place.
      if (token.used_by !== null) return { ...answer, api_key: await issueMachineKey(tx, kernel, row) };
      environments.checkEnrollable(row, now);
      await takeToken(tx, row.id, body.device_id);
      const { address, traceId } = context;
      const by: Who =
        token.key_id === null
          ? bySystem
          : {
              kind: 'key',
              keyId: token.key_id,
              accountId: token.created_by,
              ...(address !== undefined && { address }),
              traceId,
            };
      const doer: Doer = { kind: 'daemon', accountId: token.key_id === null ? null : token.created_by, by };
      await environments.move(tx, row, 'enroll', { deviceId: body.device_id }, doer);
      return token.key_id === null ? { ...answer, api_key: await issueMachineKey(tx, kernel, row) } : answer;
    });
  });
}

/** The token's environment, locked; undefined when who made it may not make one any more. */
async function environmentOf(tx: Db, token: TokenRow, keyId: string): Promise<EnvironmentRow | undefined> {
  const terms = await findTerms(tx, keyId);
  if (!terms || !scopesWithin(['environments'], terms.scopes) || !(await mayRun(tx, token.created_by)))
    return undefined;
  const row = await findSeen(tx, token.created_by, token.environment_id, true);
  return row && isAtLeast(row.role, 'maintainer') ? row : undefined;
}

/** The environment whose machine the platform made, locked. */
async function managedOf(tx: Db, token: TokenRow): Promise<EnvironmentRow | undefined> {
  const row = await lockEnvironment(tx, token.environment_id);
  return row?.provider === 'byo' ? undefined : row;
}
