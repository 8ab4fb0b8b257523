import type { Feature } from '../../kernel/feature.ts';
import type { DeletionParts } from '../accounts/index.ts';
import type { Identity, Proofs } from '../auth/index.ts';
import { addPasskey } from './addPasskey.ts';
import { confirmLink } from './confirmLink.ts';
import { createLink } from './createLink.ts';
import { endLogin } from './endLogin.ts';
import { endLogins } from './endLogins.ts';
import { get } from './get.ts';
import { getLink } from './getLink.ts';
import { listLogins } from './listLogins.ts';
import { listPasskeys } from './listPasskeys.ts';
import { makeRecoveryCodes } from './makeRecoveryCodes.ts';
import { passkeyOptions } from './passkeyOptions.ts';
import { reauth } from './reauth.ts';
import { reauthOptions } from './reauthOptions.ts';
import { remove } from './remove.ts';
import { removePasskey } from './removePasskey.ts';
import { removePassword } from './removePassword.ts';
import { setPassword } from './setPassword.ts';
import { update } from './update.ts';
import { updatePasskey } from './updatePasskey.ts';

/** The account of who is signed in, and how they sign in. */
export const meFeature = ({
  identity,
  proofs,
  deletion,
}: {
  identity: Identity;
  proofs: Proofs;
  deletion: Pick<DeletionParts, 'refusal'>;
}): Feature => ({
  name: 'me',
  operations: {
    get,
    update,
    remove: remove(identity, deletion),
    reauthOptions,
    reauth: reauth(proofs),
    setPassword: setPassword(identity, proofs),
    removePassword,
    listPasskeys,
    passkeyOptions,
    addPasskey: addPasskey(identity),
    updatePasskey,
    removePasskey,
    makeRecoveryCodes,
    listLogins,
    endLogin: endLogin(identity),
    endLogins: endLogins(identity),
    createLink,
    getLink,
    confirmLink,
  },
});
