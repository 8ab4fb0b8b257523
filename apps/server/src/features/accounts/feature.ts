import type { Feature } from '../../kernel/feature.ts';
import type { SignIns } from './accounts.people.ts';
import { create } from './create.ts';
import { get } from './get.ts';
import { accountsManifest } from './index.ts';
import { link } from './link.ts';
import { list } from './list.ts';
import { signOut } from './signOut.ts';
import { update } from './update.ts';

/** People who use this installation, for its operators. */
export const accountsFeature = (signIns: SignIns): Feature => ({
  ...accountsManifest,
  operations: {
    list: list(signIns),
    create: create(signIns),
    get: get(signIns),
    update: update(signIns),
    link: link(signIns),
    signOut: signOut(signIns),
  },
});
