import type { ToolLevel } from '@svc/contract';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import { hashKey } from './keys.lookup.ts';
import { generateKey, recognisable } from './keys.rules.ts';
import { insertKey } from './keys.sql.ts';

/** The terms of a new key; a limit that is left out is unlimited, and the tool level is the account's. */
export interface KeyTerms {
  accountId: string;
  name: string;
  scopes: readonly string[];
  toolLevel?: ToolLevel | undefined;
  models?: readonly string[] | null | undefined;
  spendCapMicroUsd?: number | null | undefined;
  /** RFC 3339. */
  expiresAt?: string | null | undefined;
  /** The key that makes it; unset: a command, or the first start. */
  parentId?: string | undefined;
  /** The app that it is for, its device, and the grant whose token asked for it. */
  connection?: { id: string; device: string | null; grantId?: string | undefined };
}

/** Creates a key; its text is in the answer and nowhere else. */
export async function issueKey(
  kernel: Pick<Kernel, 'keyring'>,
  db: Db,
  terms: KeyTerms,
): Promise<{ id: string; text: string }> {
  const text = generateKey();
  const id = await insertKey(db, {
    ...recognisable(text),
    accountId: terms.accountId,
    name: terms.name,
    hash: hashKey(kernel, text),
    scopes: terms.scopes,
    toolLevel: terms.toolLevel ?? null,
    models: terms.models ?? null,
    spendCapMicroUsd: terms.spendCapMicroUsd ?? null,
    expiresAt: terms.expiresAt ?? null,
    parentId: terms.parentId ?? null,
    connection: terms.connection ?? null,
  });
  return { id, text };
}
