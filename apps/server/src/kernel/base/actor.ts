import type { ToolLevel } from '@svc/contract';

/** Who calls: an active key and what its account may do. */
export interface Actor {
  readonly accountId: string;
  readonly keyId: string;
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
