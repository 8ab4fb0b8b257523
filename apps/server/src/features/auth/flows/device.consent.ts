import { freshSeconds } from '@svc/contract';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Connections } from '../../connections/index.ts';
import type { Choices, ShownClient } from '../pages/consent.ts';
import type { PageContext } from '../pages/page.ts';
import { findClient } from '../provider/clients.sql.ts';
import { nameOfApp, trustOf } from '../provider/clients.ts';
import { resourceOf } from '../provider/urls.ts';
import { allow, keyLifeOf, leftOutOf, scopesToDecide } from './consent.grant.ts';

/** What the pages of the library stand on. */
export interface PageParts {
  kernel: Kernel;
  connections: Connections;
  /** An account, if it may sign in. */
  account: (id: string) => Promise<{ email: string } | undefined>;
}

/** What a device asks for, and who may decide it on the page with its code. */
interface Decision {
  accountId: string;
  email: string;
  client: ShownClient & { id: string };
  params: Readonly<Record<string, unknown>>;
  /** By the resource that they are for. */
  asked: Record<string, string[]>;
}

/**
 * Whether whoever is signed in decides on the page with the code what the device gets, so that nothing is asked twice: their proof
 * is new enough for it, and the device asks for no newer one. Else they sign in first, and decide on the page after that.
 */
export async function decisionOf(
  { kernel, account }: PageParts,
  ctx: KoaContextWithOIDC,
): Promise<Decision | undefined> {
  const { session, entities } = ctx.oidc;
  const code = entities.DeviceCode as unknown as { clientId: string; params: Readonly<Record<string, unknown>> };
  const { clientId, params } = code;
  const accountId = session?.accountId;
  if (!session || accountId === undefined || session.past(freshSeconds)) return undefined;
  if (params['prompt'] !== undefined || params['max_age'] !== undefined) return undefined;
  const person = await account(accountId);
  const client = await clientOf(kernel, ctx, clientId);
  const asked = scopesToDecide(kernel, params, client.trust);
  if (!person || Object.values(asked).flat().length === 0) return undefined;
  return { accountId, email: person.email, client, params, asked };
}

/** An app as the person is shown it. */
export async function clientOf(kernel: Kernel, { oidc }: KoaContextWithOIDC, id: string): Promise<Decision['client']> {
  const { clientName } = (await oidc.provider.Client.find(id)) ?? {};
  const trust = trustOf(id, (await findClient(kernel.sql, id)) !== undefined);
  const host = trust === 'document' ? URL.parse(id)?.host : undefined;
  return { id, name: nameOfApp(clientName ?? id), trust, ...(host !== undefined && { host }) };
}

/** The part of the page that asks for consent. */
export const consentOf = (
  kernel: Kernel,
  page: PageContext,
  { client, params, asked, email }: Decision,
): Choices & { email: string } => ({
  email,
  trust: client.trust,
  byCode: true,
  scopes: [...new Set(Object.values(asked).flat())],
  leftOut: leftOutOf(kernel, params, client.trust),
  resource: resourceOf(kernel.config, Object.keys(asked)[0] ?? '') ?? 'api',
  ...keyLifeOf(page, client.trust),
});

/** Grants what was ticked on the page with the code, and answers the grant's id; undefined: nothing was decided there. */
export async function deviceConsent(parts: PageParts, ctx: KoaContextWithOIDC): Promise<string | undefined> {
  const form = (ctx.oidc.body ?? {}) as { account?: unknown; scope?: unknown };
  const decision = form.account === undefined ? undefined : await decisionOf(parts, ctx);
  // Somebody else may have signed in while the page was open.
  if (!decision || decision.accountId !== form.account) return undefined;
  const ticked = new Set([form.scope].flat().filter((scope) => typeof scope === 'string'));
  try {
    return await allow({ provider: ctx.oidc.provider, connections: parts.connections }, { ...decision, ticked });
  } catch (error) {
    // Such as an account that has all the apps it may have: the page of consent asks again, and says why it is refused.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
