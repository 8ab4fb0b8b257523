import { contract } from '@svc/contract';
import { checkAccess } from '../../kernel/mount/access.ts';
import type { Actor } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { KeyLookup } from '../keys/index.ts';
import type { Sandboxes } from '../sandboxes/index.ts';
import type { Definition } from './schedules.sql.ts';

/** The model that agents in the cloud ask. */
const agentModel = 'svc';

/** The kind of the work and where it runs: enough to tell which rights it needs. */
export type LaterWork = Pick<Definition, 'kind'> & { inCloud: boolean };

/** The keys behind a run: the one that asked for it, and the one that saved what it does. */
interface Keys {
  key_id: string | null;
  made_by: string | null;
}

/** Says why a run ends whose key has ended, and what to do. */
export const keyEnded =
  'the key that asked for this is revoked, paused or expired; save the schedule again with a key that may do this';

/**
 * The rights of work that happens later: those of the key that asked for it, as they are when it happens (document 3,
 * Authentication; docs/security.md).
 */
export class Rights {
  readonly #lookup: Pick<KeyLookup, 'authenticateId'>;
  readonly #sandboxes: Pick<Sandboxes, 'check'>;

  constructor(lookup: Pick<KeyLookup, 'authenticateId'>, sandboxes: Pick<Sandboxes, 'check'>) {
    this.#lookup = lookup;
    this.#sandboxes = sandboxes;
  }

  /**
   * Throws what the routes would answer a caller that does the work by itself: 403 for scope, level, model or feature, 429
   * for a spend cap that is reached. Hosts decide besides what they run.
   */
  check(actor: Actor, { kind, inCloud }: LaterWork): void {
    checkAccess('schedules', contract.schedules.create, actor);
    if (!inCloud || (kind !== 'shell' && kind !== 'agent')) return;
    this.#sandboxes.check(actor);
    if (kind === 'shell') return;
    checkAccess('chat', contract.chat.completions, actor);
    if (actor.models && !actor.models.includes(agentModel)) {
      const message = `agents in the cloud use the model ${agentModel}; this key may use ${actor.models.join(', ')}`;
      throw new ApiError('forbidden', message);
    }
  }

  /**
   * The key that a run acts for now. The one that asked for it and the one that saved its work must both be allowed to, or an
   * edit of a chain's step would run with the chain's rights; of two caps the lower one pays. Throws 403 when one of them
   * has ended, and as `check` does.
   */
  async find({ key_id: askedBy, made_by: madeBy }: Keys, work: LaterWork): Promise<Actor> {
    const asking = await this.#findOne(askedBy, work);
    if (madeBy === askedBy) return asking;
    const making = await this.#findOne(madeBy, work);
    return (making.spendCapMicroUsd ?? Infinity) < (asking.spendCapMicroUsd ?? Infinity) ? making : asking;
  }

  async #findOne(keyId: string | null, work: LaterWork): Promise<Actor> {
    const actor = keyId === null ? undefined : await this.#lookup.authenticateId(keyId);
    if (!actor) throw new ApiError('forbidden', keyEnded);
    this.check(actor, work);
    return actor;
  }
}
