import { type Scope, scopesOfApps } from '@svc/contract';
import { lasting } from '@svc/words';
import type { Provider } from 'oidc-provider';
import type { Kernel } from '../../../kernel/kernel.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import { type Connections, keyDaysOf } from '../../connections/index.ts';
import type { ShownClient } from '../pages/consent.ts';
import type { PageContext } from '../pages/page.ts';
import { isOfMcp, type trustOf } from '../provider/clients.ts';
import { openIdScopes, scopesAsked } from '../provider/provider.ts';
import { isLoopback } from '../../../kernel/base/spellings.ts';
import { resourceOf } from '../provider/urls.ts';

/** Scopes that are asked for and not decided yet, by the resource that they are for. */
export type ScopesAsked = Record<string, string[]>;
type ClientTrust = ReturnType<typeof trustOf>;
/** Of an authorization request. */
type Params = Readonly<Record<string, unknown>>;

const daySeconds = 86_400;

/**
 * All that is decided of what an app asks for. The page has what was not given before; where all of it was, as of an app on a
 * machine of its own, which is asked about each time (RFC 8252, 8.6), all of it again.
 */
export function scopesToDecide(kernel: Kernel, params: Params, trust: ClientTrust): ScopesAsked {
  const scopes = scopesAsked(params).filter((scope) => scopesOfApps(trust).includes(scope as Scope));
  const resources = [params['resource']].flat().filter((one) => typeof one === 'string');
  return Object.fromEntries(
    resources.map((one) => [one, scopes.filter((scope) => resourceOf(kernel.config, one) === 'api' || isOfMcp(scope))]),
  );
}

/** What the app asked for and is not given, whatever the person says: it is too much for it, or not of what its token is for. */
export function leftOutOf(kernel: Kernel, params: Params, trust: ClientTrust): string[] {
  const resources = [params['resource']].flat().filter((one) => typeof one === 'string');
  const isOfTools = resources.length > 0 && resources.every((one) => resourceOf(kernel.config, one) === 'mcp');
  return scopesAsked(params).filter(
    (scope) => !scopesOfApps(trust).includes(scope as Scope) || (isOfTools && !isOfMcp(scope)),
  );
}

/** How long an app keeps what it gets, in words. */
export function keyLifeOf({ locale }: PageContext, trust: ClientTrust): { keyLife?: string } {
  const days = keyDaysOf(trust);
  return days === undefined ? {} : { keyLife: lasting(locale, days * daySeconds) };
}

/** A host, unless it is that of the person's machine, whose port is another one each time, or a scheme of an app. */
const hostOf = (place: string | undefined): string | null =>
  place === undefined || place.endsWith('://') || isLoopback(`http://${place}`) ? null : place;

/** Grants what was ticked, and notes what was not, so that it is not asked again in this sign-in; answers the grant's id. */
export async function allow(
  { provider, connections }: { provider: Pick<Provider, 'Grant'>; connections: Connections },
  given: { accountId: string; client: ShownClient & { id: string }; asked: ScopesAsked; ticked: ReadonlySet<string> },
): Promise<string> {
  const { accountId, client, asked, ticked } = given;
  const grant = new provider.Grant({ accountId, clientId: client.id });
  grant.addOIDCScope(openIdScopes.join(' '));
  for (const [resource, scopes] of Object.entries(asked)) {
    grant.addResourceScope(resource, scopes.filter((scope) => ticked.has(scope)).join(' '));
    grant.rejectResourceScope(resource, scopes.filter((scope) => !ticked.has(scope)).join(' '));
  }
  const offered = [...new Set(Object.values(asked).flat())];
  await connections.allow({
    account_id: accountId,
    client_id: client.id,
    name: client.name,
    trust: client.trust,
    host: client.host ?? hostOf(client.goesTo),
    asked: offered,
    scopes: offered.filter((scope) => ticked.has(scope)),
    resources: Object.keys(asked),
    by: bySystem,
  });
  return grant.save();
}
