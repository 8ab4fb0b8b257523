import type { Context } from '../../kernel/http/context.ts';
import type { Doer } from './environments.store.ts';

/** The caller of a request, as events and the audit log name it. */
export const doerOf = ({ actor, by }: Pick<Context, 'actor' | 'by'>): Doer => ({
  accountId: actor.accountId,
  kind: 'user',
  by,
});
