import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { Strangers } from '../../kernel/mount/strangers.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { bindTo } from '../devices/index.ts';
import { findTerms, issueKey, keysQuota, scopesWithin } from '../keys/index.ts';
import { hashOfCode, hostScopes, hostScopesBesides } from './hosts.invites.ts';
import { lockInvite, sealedInvites, useInvite } from './hosts.invites.sql.ts';

/** What a code is exchanged for. */
interface Redeemed {
  key: string;
  name: string;
  device_id: string;
}

const notValid = (): ApiError =>
  new ApiError('forbidden', 'this code was used, is over ten minutes old, or is none; make another: svc host invite');

const ofAnotherDevice = (): ApiError =>
  new ApiError('forbidden', 'this code is for another device; make one for this machine: svc host invite');

/**
 * Exchanges a code for a key that one device serves with and that may do nothing else. The same device gets the same answer
 * again as long as the code lives: the first one may have been lost.
 */
export function redeemInvite(kernel: Kernel): Operation {
  const strangers = new Strangers(kernel, { what: 'codes of hosts' });
  return operation(contract.hosts.redeemInvite, async (context, { body: { code, device } }) => {
    // Before the database is asked: anybody may call this.
    strangers.check(context.address);
    // The answer is sealed.
    await kernel.gateways.prove();
    return context.transaction(async (tx) => {
      const { keyring } = context.kernel;
      const invite = await lockInvite(tx, context.clock, hashOfCode(code.toUpperCase()));
      // Its maker may have been revoked since, or be allowed less: a key that it makes has no more than it has now.
      const maker = invite && (await findTerms(tx, invite.key_id));
      const mayStill = maker !== undefined && scopesWithin(['hosts', ...hostScopes], maker.scopes);
      const isTaken = invite !== undefined && invite.used_by !== null && invite.used_by !== device.id;
      if (!invite || !mayStill || isTaken) throw strangers.refuse(context.address, notValid());
      if (invite.device_id !== null && invite.device_id !== device.id) throw ofAnotherDevice();
      if (invite.answer && invite.made_key !== null) {
        // Whoever revoked its key meant that nobody has it.
        if (!(await findTerms(tx, invite.made_key))) throw strangers.refuse(context.address, notValid());
        return JSON.parse(keyring.open(sealedInvites, invite.answer).toString()) as Redeemed;
      }
      const { account_id: accountId, key_id: makerId } = invite;
      const name = invite.name ?? device.name;
      const scopes = [...hostScopes, ...hostScopesBesides.filter((scope) => scopesWithin([scope], maker.scopes))];
      await checkQuota(context.kernel.config, tx, keysQuota, accountId);
      const { isPerson, ...limits } = maker;
      // A key that a person made has no parent.
      const parentId = isPerson ? undefined : makerId;
      const terms = { ...limits, accountId, name: `host ${name}`, scopes, toolLevel: 'l0' as const, parentId };
      const { id: keyId, text: key } = await issueKey(context.kernel, tx, terms);
      await bindTo(tx, {
        accountId,
        deviceId: device.id,
        keyId,
        scopes,
        takesOver: invite.device_id !== null,
      });
      const by = { kind: 'key' as const, keyId: makerId, address: context.address, traceId: context.traceId };
      const details = { device_id: device.id, name };
      await writeAct(tx, { accountId, by, action: 'hosts.redeemInvite', subject: keyId, details });
      const redeemed: Redeemed = { key, name, device_id: device.id };
      const answer = keyring.seal(sealedInvites, Buffer.from(JSON.stringify(redeemed)));
      await useInvite(tx, invite.id, { deviceId: device.id, keyId, answer });
      return redeemed;
    });
  });
}
