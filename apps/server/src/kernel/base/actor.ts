import type { ToolLevel } from '@svc/contract';

/** Who calls: what they showed, and what it and its account may do. */
export interface Actor {
  readonly accountId: string;
  /** Id of what was shown: of an API key, of a login (a signed-in browser), of an app's connection. */
  readonly credentialId: string;
  readonly kind: 'key' | 'login' | 'token';
  /** The key whose rights later work has: the one that was shown, or the row that stands for the person or the connection. */
  readonly keyId: string;
  /** The connection of the app that acts: of its tokens, of the keys that it was given, and of those that these made. */
  readonly connectionId?: string | undefined;
  /** The grant that gave the token which was shown: what is made with it ends when the token turns out stolen. */
  readonly grantId?: string | undefined;
  /** That app is this product's own command line: its person acts by it. */
  readonly isOwnApp?: boolean;
  /** When the person last proved who they are, in milliseconds since the epoch; of logins only. */
  readonly authTime?: number;
  readonly subscription: 'active' | 'inactive';
  readonly suspended: boolean;
  readonly scopes: readonly string[];
  readonly toolLevel: ToolLevel;
  /** Models the key may use; undefined: all. */
  readonly models: readonly string[] | undefined;
  readonly spendCapMicroUsd: number | undefined;
  /** RFC 3339; undefined: never. */
  readonly expiresAt: string | undefined;
  /** The key has reached its spend cap. */
  readonly spent: boolean;
  readonly features: Readonly<Record<string, boolean>>;
}

/** Whether the caller may do whatever the account may: its owner's key, or the person. */
export const isOwner = ({ kind, scopes }: Pick<Actor, 'kind' | 'scopes'>): boolean =>
  kind === 'login' || scopes.includes('*');

/** Whether a change concerns the caller: a change of an account does, unless it names another credential. */
export const isWhose = (
  actor: Pick<Actor, 'accountId' | 'credentialId'>,
  { accountId, credentialId }: { accountId: string; credentialId?: string },
): boolean => actor.accountId === accountId && (credentialId === undefined || actor.credentialId === credentialId);
