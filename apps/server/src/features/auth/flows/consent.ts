import { freshSeconds, isStrong } from '@svc/contract';
import { consentPage } from '../pages/consent.ts';
import { redirectPage } from '../pages/notes.ts';
import { findClient } from '../provider/clients.sql.ts';
import { nameOfApp, trustOf } from '../provider/clients.ts';
import { placeOfRedirect } from '../provider/redirects.ts';
import { resourceOf } from '../provider/urls.ts';
import { allow, keyLifeOf, leftOutOf, type ScopesAsked, scopesToDecide } from './consent.grant.ts';
import type { FlowParts } from './parts.ts';
import { type Interaction, interactionOf } from './sign-in.ts';
import type { PageVisit } from './visit.ts';

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
  const { prompt, params } = interaction;
  const missing = (prompt.details['missingResourceScopes'] ?? {}) as ScopesAsked;
  const asked = Object.keys(missing).length > 0 ? missing : scopesToDecide(visit.kernel, params, client.trust);
  if (Object.keys(asked).length === 0 && !asksWho(interaction)) {
    const fault = { error: 'invalid_scope', error_description: 'ask for scopes, and name the resource they are for' };
    return finish(visit, interaction, fault);
  }
  const leftOut = leftOutOf(visit.kernel, params, client.trust);
  if (visit.method !== 'POST')
    return ask(visit, parts, { accountId, client, asked, leftOut, byCode: params['redirect_uri'] === undefined });
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
      ? {
          ...interaction.lastSubmission,
          consent: {
            grantId: await allow({ ...parts, provider }, { accountId, client, asked, ticked: tickedOf(form) }),
          },
        }
      : { error: 'access_denied', error_description: 'the person did not let the app in' },
  );
}

const tickedOf = (form: URLSearchParams): Set<string> => new Set(form.getAll('scope'));

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
    byCode,
  }: {
    accountId: string;
    client: Awaited<ReturnType<typeof clientOf>>;
    asked: ScopesAsked;
    leftOut: readonly string[];
    /** Its answer goes nowhere: a device waits for it. */
    byCode: boolean;
  },
): Promise<void> {
  const account = await identity.account(accountId);
  const [resource = ''] = Object.keys(asked);
  const page = consentPage(visit.page, {
    action: visit.page.base + visit.path,
    client,
    email: account?.email ?? '',
    scopes: [...new Set(Object.values(asked).flat())],
    leftOut,
    byCode,
    ...keyLifeOf(visit.page, client.trust),
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
