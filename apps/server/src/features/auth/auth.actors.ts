import { type Route, scopesOfPerson } from '@svc/contract';
import type { Actor } from '../../kernel/base/actor.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { keyOfPerson } from '../keys/index.ts';
import type { LoginGrant, LoginLookup } from './people/logins.lookup.ts';

/** The person behind the cookie of a login, as a caller. No promise while the login is cached. */
export function loginActors(
  { sql }: Pick<Kernel, 'sql'>,
  logins: LoginLookup,
): (text: string, route?: Pick<Route, 'isUnattended'>) => Actor | undefined | Promise<Actor | undefined> {
  const known = new WeakMap<LoginGrant, Actor>();
  const make = async (grant: LoginGrant): Promise<Actor> => {
    const actor = actorOf(grant, await keyOfPerson(sql, grant.accountId));
    known.set(grant, actor);
    return actor;
  };
  return (text, route) => {
    const found = logins.authenticate(text, route?.isUnattended !== true);
    if (found instanceof Promise) return found.then((grant) => grant && (known.get(grant) ?? make(grant)));
    return found && (known.get(found) ?? make(found));
  };
}

const actorOf = (grant: LoginGrant, keyId: string): Actor => ({
  accountId: grant.accountId,
  credentialId: grant.loginId,
  kind: 'login',
  keyId,
  authTime: grant.authTime,
  subscription: grant.subscription,
  suspended: grant.suspended,
  scopes: scopesOfPerson,
  toolLevel: grant.toolLevel,
  models: undefined,
  spendCapMicroUsd: undefined,
  expiresAt: grant.expiresAt,
  spent: false,
  features: grant.features,
});
