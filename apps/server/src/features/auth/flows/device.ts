import type { KoaContextWithOIDC } from 'oidc-provider';
import { headerText } from '../../../kernel/mount/device.ts';
import { deviceConfirmPage, deviceDonePage, devicePage } from '../pages/device.ts';
import { errorPage, signedOutPage, signOutPage } from '../pages/notes.ts';
import { lookOf, type PageContext } from '../pages/page.ts';
import { documentsOf } from '../provider/documents.ts';
import type { ProviderPages } from '../provider/pages.ts';
import { scopesAsked } from '../provider/provider.ts';
import { basePath } from '../provider/urls.ts';
import { clientOf, consentOf, decisionOf, deviceConsent, type PageParts } from './device.consent.ts';

/** Where the pages of the library find what we know of a request. */
export const ofRequest = Symbol('what is known of a request');

/** What we know of a request beside what the library does. */
export interface OfRequest {
  /** A code that came with the address: shown in the field, and never sent by itself. */
  prefilled?: string;
  network: string;
  /** Counts a code that is wrong. */
  noteWrong: () => void;
}

const knownOf = (ctx: KoaContextWithOIDC): Partial<OfRequest> =>
  (ctx.req as { [ofRequest]?: OfRequest })[ofRequest] ?? {};

/** The pages that the provider's library has us make. */
export function providerPages(parts: PageParts): ProviderPages {
  const { kernel } = parts;
  const pageOf = (ctx: KoaContextWithOIDC): PageContext => ({
    ...lookOf(ctx.get('cookie') || undefined, ctx.get('accept-language') || undefined),
    base: basePath(kernel.config),
  });
  const show = (ctx: KoaContextWithOIDC, body: string): void => {
    ctx.type = 'html';
    ctx.body = body;
  };
  const xsrf = (ctx: KoaContextWithOIDC): string => (ctx.oidc.session?.state?.['secret'] as string | undefined) ?? '';
  return {
    async error(ctx, { error, error_description: description = '' }) {
      if (ctx.accepts('json', 'html') !== 'html') ctx.body = { error, error_description: description };
      else show(ctx, errorPage(pageOf(ctx), { error, description, status: ctx.status }));
    },
    async deviceInput(ctx, _form, _out, error) {
      const { prefilled: given, noteWrong } = knownOf(ctx);
      // A failure of ours, such as a database that is away, is no wrong code.
      if ((error as { expose?: boolean } | undefined)?.expose === true) noteWrong?.();
      const problem = error === undefined ? {} : { problem: 'wrong' as const };
      const page = pageOf(ctx);
      const action = `${page.base}/device`;
      show(ctx, devicePage(page, { action, userCode: given, hidden: { xsrf: xsrf(ctx) }, ...problem }));
    },
    async deviceConfirm(ctx, _form, client, info, userCode) {
      const { clientId } = client as { clientId: string };
      const { name, network, at } = info as { name?: string; network?: string; at?: number };
      const code = ctx.oidc.entities.DeviceCode as unknown as { params: { scope?: string } };
      const page = pageOf(ctx);
      const decision = await decisionOf(parts, ctx);
      const body = deviceConfirmPage(page, {
        action: `${page.base}/device`,
        hidden: { xsrf: xsrf(ctx), user_code: userCode, ...(decision && { account: decision.accountId }) },
        client: await clientOf(kernel, ctx, clientId),
        device: { name, network, ageSeconds: Math.max(0, Math.round((kernel.clock.now() - (at ?? 0)) / 1000)) },
        userCode,
        scopes: scopesAsked(code.params),
        ...(decision && { consent: consentOf(kernel, page, decision) }),
      });
      show(ctx, body);
    },
    deviceConsent: (ctx) => deviceConsent(parts, ctx),
    async deviceDone(ctx) {
      show(ctx, deviceDonePage(pageOf(ctx)));
    },
    deviceInfo: (ctx) => ({
      name: headerText(ctx.get('x-svc-device-name')) || ctx.get('user-agent').slice(0, 120),
      network: knownOf(ctx).network ?? '',
      at: kernel.clock.now(),
    }),
    async signOut(ctx) {
      const page = pageOf(ctx);
      show(ctx, signOutPage(page, { action: `${page.base}/logout/confirm`, hidden: { xsrf: xsrf(ctx) } }));
    },
    async signedOut(ctx) {
      show(ctx, signedOutPage(pageOf(ctx), {}));
    },
    fetch: documentsOf(kernel),
  };
}
