import { contract } from '@svc/contract';
import { localeOf, wordsOf } from '@svc/words';
import { badRequest } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { type Identity, type Proofs, setPassword as set } from '../auth/index.ts';

export const setPassword = (identity: Identity, { hashing }: Proofs) =>
  operation(contract.me.setPassword, async (context, { body: { password } }) => {
    const { actor, by, kernel, headers } = context;
    const { accountId } = actor;
    const problem = await context.transaction(async (tx) => {
      const found = await set({ ...kernel, hashing }, { accountId, password, by, tx });
      if (found === undefined) await identity.tell(tx, accountId, { type: 'password.changed' });
      return found;
    });
    if (problem !== undefined) {
      const { problems } = wordsOf(localeOf(headers['accept-language']));
      const said = problems[problem === 'address' ? 'isEmail' : problem];
      throw badRequest(`password: ${said}`, { password: [said] });
    }
    return { changed: true as const };
  });
