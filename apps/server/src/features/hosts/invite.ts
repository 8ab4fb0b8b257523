import { contract } from '@svc/contract';
import { isOwner } from '../../kernel/base/actor.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { operation } from '../../kernel/feature.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { checkTerms } from '../keys/index.ts';
import { createCode, hashOfCode, hostScopes } from './hosts.invites.ts';
import { countInvites, insertInvite } from './hosts.invites.sql.ts';
import { hostProgram } from './hosts.program.ts';

const mostOpen = 20;

/** Makes a code with which a machine becomes a host; its text is in this answer and nowhere else. */
export const invite = operation(contract.hosts.invite, async (context, { body }) => {
  const { actor, by, clock } = context;
  checkTerms(actor, { scopes: hostScopes, tool_level: 'l0' }, clock.now());
  if (body.device_id !== undefined && !isOwner(actor)) {
    throw new ApiError('forbidden', 'to let a device be taken over the key needs the scope "*"; leave device_id out');
  }
  const { sha256 } = await hostProgram.built();
  const code = createCode();
  const { accountId, keyId } = actor;
  const expiresAt = await context.transaction(async (tx) => {
    if ((await countInvites(tx, clock, accountId)) >= mostOpen) {
      const headers = { 'x-should-retry': 'false', 'retry-after': '600' };
      throw new ApiError('quota_exceeded', `${mostOpen} codes are open; use one, or wait until they end`, { headers });
    }
    await writeAct(tx, {
      accountId,
      by,
      action: 'hosts.invite',
      details: { name: body.name, device_id: body.device_id },
    });
    const { name = null, device_id: deviceId = null } = body;
    return insertInvite(tx, clock, { accountId, keyId, name, deviceId, codeHash: hashOfCode(code) });
  });
  return { code, expires_at: expiresAt, path: hostProgram.path, sha256 };
});
