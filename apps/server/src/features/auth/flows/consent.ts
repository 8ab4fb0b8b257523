import { freshSeconds, isStrong, type Scope, scopesOfApps } from '@svc/contract';
import { lasting } from '@svc/words';
import { bySystem } from '../../../kernel/records/audit.ts';
import { keyDaysOf } from '../../connections/index.ts';
import { consentPage } from '../pages/consent.ts';
import { redirectPage } from '../pages/notes.ts';
import { findClient } from '../provider/clients.sql.ts';
import { isOfMcp, nameOfApp, trustOf } from '../provider/clients.ts';
import { openIdScopes, scopesAsked } from '../provider/provider.ts';
import { placeOfRedirect } from '../provider/redirects.ts';
import { isLoopback, resourceOf } from '../provider/urls.ts';
import type { FlowParts } from './parts.ts';
import { type Interaction, interactionOf } from './sign-in.ts';
import type { PageVisit } from './visit.ts';

/** Scopes that are asked for and not decided yet, by the resource that they are for. */
type Asked = Record<string, string[]>;
type ClientTrust = ReturnType<typeof trustOf>;

const daySeconds = 86_400;

/** The page on which a person lets an app in, and what it sends. */
export async function consent(visit: PageVisit, parts: FlowParts, uid: string): Promise<void> {
  const { provider } = await parts.identity.open();
  const interaction = await interactionOf(visit, provider, uid);
  const accountId = interaction?.session?.accountId;
  const sessionId = interaction?.session?.uid;
  const ago = accountId && (await parts.identity.provedAgo(visit, { accountId, sessionId }));
  // They may have signed out, or somebody else in, while the page was open; or the account was suspended.
  if (!interaction || !accountId || typeof ago !== 'number') return visit.html(400, parts.identity.expiredPage(visit));
  const client = await clientOf(
    parts,
    String(interaction.params['client_id']),
    String(interaction.params['redirect_uri']),
  );
  const asked = scopesToDecide(visit, interaction, client.trust);
  if (Object.keys(asked).length === 0 && !asksWho(interaction)) {
    const fault = { error: 'invalid_scope', error_description: 'ask for scopes, and name the resource they are for' };
    return finish(visit, interaction, fault);
  }
  const leftOut = leftOutOf(visit, interaction, client.trust);
  if (visit.method !== 'POST') return ask(visit, parts, { accountId, client, asked, leftOut });
  visit.checkOwn();
  const form = await visit.form();
  const isAllowed = form.get('decision') === 'allow';
  // The page may have been open since the proof for up to an hour.
  if (isAllowed && ago > freshSeconds && form.getAll('scope').some(isStrong))
    return visit.html(400, parts.identity.expiredPage(visit));
  await finish(
    visit,
    interaction,
    isAllowed
      ? { ...interaction.lastSubmission, consent: { grantId: await allow(parts, { accountId, client, asked, form }) } }
      : { error: 'access_denied', error_description: 'the person did not let the app in' },
  );
}

/** Whether an app wants to know who the person is. */
const asksWho = ({ params: { scope } }: Interaction): boolean =>
  typeof scope === 'string' && scope.split(' ').includes('openid');

async function ask(
  visit: PageVisit,
  { identity }: FlowParts,
  {
    accountId,
    client,
    asked,
    leftOut,
  }: { accountId: string; client: Awaited<ReturnType<typeof clientOf>>; asked: Asked; leftOut: readonly string[] },
): Promise<void> {
  const account = await identity.account(accountId);
  const [resource = ''] = Object.keys(asked);
  const days = keyDaysOf(client.trust);
  const page = consentPage(visit.page, {
    action: visit.page.base + visit.path,
    client,
    email: account?.email ?? '',
    scopes: [...new Set(Object.values(asked).flat())],
    leftOut,
    ...(days !== undefined && { keyLife: lasting(visit.page.locale, days * daySeconds) }),
    resource: resourceOf(visit.kernel.config, resource) ?? 'api',
  });
  visit.html(200, page);
}

/** Notes what was decided, and sends the browser on. */
async function finish(visit: PageVisit, interaction: Interaction, result: NonNullable<Interaction['result']>) {
  interaction.result = result;
  await interaction.save(interaction.exp - Math.floor(visit.kernel.clock.now() / 1000));
  visit.html(200, redirectPage(visit.page, { to: interaction.returnTo }));
}

/**
 * What is decided on the page: what was not given before; where all of it was, as of an app on a machine of its own, which
 * is asked about each time (RFC 8252, 8.6), all of it again.
 */
function scopesToDecide({ kernel }: PageVisit, { prompt, params }: Interaction, trust: ClientTrust): Asked {
  const missing = (prompt.details['missingResourceScopes'] ?? {}) as Asked;
  if (Object.keys(missing).length > 0) return missing;
  const scopes = scopesAsked(params).filter((scope) => scopesOfApps(trust).includes(scope as Scope));
  const resources = [params['resource']].flat().filter((one) => typeof one === 'string');
  return Object.fromEntries(
    resources.map((one) => [one, scopes.filter((scope) => resourceOf(kernel.config, one) === 'api' || isOfMcp(scope))]),
  );
}

/** What the app asked for and is not given, whatever the person says: it is too much for it, or not of what its token is for. */
function leftOutOf({ kernel }: PageVisit, { params }: Interaction, trust: ClientTrust): string[] {
  const resources = [params['resource']].flat().filter((one) => typeof one === 'string');
  const isOfTools = resources.length > 0 && resources.every((one) => resourceOf(kernel.config, one) === 'mcp');
  return scopesAsked(params).filter(
    (scope) => !scopesOfApps(trust).includes(scope as Scope) || (isOfTools && !isOfMcp(scope)),
  );
}

/** An app as the person is shown it. */
async function clientOf({ identity, kernel }: FlowParts, clientId: string, redirectUri: string) {
  const { provider } = await identity.open();
  const client = await provider.Client.find(clientId);
  const trust = trustOf(clientId, (await findClient(kernel.sql, clientId)) !== undefined);
  const host = trust === 'document' ? URL.parse(clientId)?.host : undefined;
  return {
    id: clientId,
    name: nameOfApp(client?.clientName ?? clientId),
    trust,
    ...(host !== undefined && { host }),
    goesTo: placeOfRedirect(redirectUri),
  };
}

/** A host, unless it is that of the person's machine, whose port is another one each time, or a scheme of an app. */
const hostOf = (place: string | undefined): string | null =>
  place === undefined || place.endsWith('://') || isLoopback(`http://${place}`) ? null : place;

/** Grants what was ticked, and notes what was not, so that it is not asked again in this sign-in. */
async function allow(
  { identity, connections }: FlowParts,
  given: {
    accountId: string;
    client: Awaited<ReturnType<typeof clientOf>>;
    asked: Asked;
    form: URLSearchParams;
  },
): Promise<string> {
  const { accountId, client, asked, form } = given;
  const { provider } = await identity.open();
  const ticked = new Set(form.getAll('scope'));
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
