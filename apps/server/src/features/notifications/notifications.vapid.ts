import type { Sealed } from '../../kernel/crypto.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { readOrCreateFact } from '../../kernel/db/facts.ts';

/** The installation's identity towards push services (RFC 8292), base64url. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

const fact = 'vapid';
/** The keys. */
export const sealedVapid: Sealed = {
  purpose: fact,
  table: 'kernel.facts',
  column: 'value',
  where: `name = '${fact}'`,
};

/** Reads the keys, which the first to ask makes; sealed with the master key. Kept once read. */
export function createVapid({ sql, keyring }: Pick<Kernel, 'sql' | 'keyring'>): () => Promise<VapidKeys> {
  let kept: VapidKeys | undefined;
  return async () => {
    if (kept) return kept;
    const webPush = await loadWebPush();
    const sealed = await readOrCreateFact(sql, fact, () =>
      keyring.seal(sealedVapid, Buffer.from(JSON.stringify(webPush.generateVAPIDKeys()))),
    );
    return (kept = JSON.parse(keyring.open(sealedVapid, sealed).toString()) as VapidKeys);
  };
}

/** Loaded on first use: with what it brings along it takes 8 MB. */
export const loadWebPush = async () => (await import('web-push')).default;
