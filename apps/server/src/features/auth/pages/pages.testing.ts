import { lasting } from '@svc/words';
import { consentPage, type ShownClient } from './consent.ts';
import { deviceConfirmPage, deviceDonePage, devicePage } from './device.ts';
import { errorPage, messagePage, redirectPage, signedOutPage, signOutPage } from './notes.ts';
import type { PageContext, PasskeyPlace } from './page.ts';
import { phonePage } from './phone.ts';
import { mailCodePage, signInPage } from './sign-in.ts';
import { signUpPage } from './sign-up.ts';
import { codesPage, type PagePurpose, type PasswordFault, recoverPage, tokenPage, welcomePage } from './start.ts';

/** What strangers and people write, and where forms go. */
export interface Sample {
  email: string;
  name: string;
  host: string;
  text: string;
  /** A value that must come back as it was given. */
  value: string;
  scopes: readonly string[];
  /** An address of ours. */
  href: string;
  /** An address of another site. */
  to: string;
}

export const calm: Sample = {
  email: 'ana.popescu@example.org',
  name: 'Field Notes',
  host: 'notes.example.org',
  text: 'The parameter redirect_uri is not one of those that the app registered.',
  value: 'v1.bX9-_q',
  scopes: ['heartbeats:read', 'transcripts:read', 'heartbeats', 'notifications', 'hosts:exec', 'chat'],
  href: '/auth/next',
  to: 'https://notes.example.org/callback?code=abc&state=def',
};

/** Every page in every variant that looks different, by name. */
export const pagesOf = (page: PageContext, sample: Sample): Record<string, string> => ({
  ...pagesToEnter(page, sample),
  ...pagesToDecide(page, sample),
});

/** Sign-in, first account and recovery. */
function pagesToEnter(page: PageContext, { email, name, host, value, href }: Sample): Record<string, string> {
  const action = href;
  const passkeyOptionsHref = href;
  const signIn = {
    action,
    recoverHref: href,
    signUpHref: href,
    passkeyOptionsHref,
    mailCode: true,
    passkeys: 'here' as PasskeyPlace,
  };
  const welcome = (purpose: PagePurpose, password?: PasswordFault) =>
    welcomePage(page, {
      action,
      purpose,
      passkeyOptionsHref,
      carry: value,
      email,
      name,
      passkeys: 'here',
      emailFixed: purpose !== 'setup',
      ...(password && { problems: { email: 'bad', password, passkey: true } }),
    });
  return {
    signIn: signInPage(page, signIn),
    'signIn.client': signInPage(page, { ...signIn, email, clientName: name, problem: 'wrong', mailCode: false }),
    'signIn.slow': signInPage(page, { ...signIn, passkeys: 'never', problem: 'slow', waitSeconds: 900 }),
    'signIn.elsewhere': signInPage(page, {
      ...signIn,
      passkeys: { at: 'http://localhost:8080/auth' },
      mailCode: false,
    }),
    mailCode: mailCodePage(page, { action, email }),
    'mailCode.wrong': mailCodePage(page, { action, email, problem: 'wrong' }),
    token: tokenPage(page, { action, purpose: 'setup' }),
    'token.phone': tokenPage(page, { action, purpose: 'phone', problem: 'slow', waitSeconds: 60 }),
    phone: phonePage(page, { number: 42, href }),
    signUp: signUpPage(page, { action, domain: host, email, problem: 'bad' }),
    'token.over': tokenPage(page, { action, purpose: 'recover', problem: 'over' }),
    'welcome.setup': welcome('setup'),
    'welcome.invite': welcome('invite', 'common'),
    'welcome.recover': welcome('recover'),
    codes: codesPage(page, { codes: Array.from({ length: 10 }, (_, at) => `BCDF-GHJ${at}-KLMN`), nextHref: href }),
    recover: recoverPage(page, { action, email, mail: true, problem: 'wrong' }),
    'recover.short': recoverPage(page, { action, mail: false, problem: 'short' }),
  };
}

/** Consent, devices, notes, and what a signed-in person sees. */
function pagesToDecide(page: PageContext, sample: Sample): Record<string, string> {
  const { email, name, host, value, href } = sample;
  const action = href;
  const clientOf = (trust: ShownClient['trust']): ShownClient => ({
    name,
    ...(trust === 'document' && { host }),
    goesTo: trust === 'first-party' ? 'cursor://' : host,
    trust,
  });
  const consent = (trust: ShownClient['trust'], scopes = sample.scopes) =>
    consentPage(page, {
      action,
      client: clientOf(trust),
      email,
      scopes,
      keyLife: lasting(page.locale, 7_776_000),
      resource: 'api',
    });
  return {
    consent: consent('document'),
    'consent.unknown': consent('unknown'),
    'consent.none': consent('first-party', []),
    device: devicePage(page, { action, userCode: value }),
    'device.wrong': devicePage(page, { action, problem: 'wrong' }),
    deviceConfirm: deviceConfirmPage(page, {
      action,
      hidden: { [value]: value },
      client: clientOf('first-party'),
      userCode: 'BCDF-GHJK',
      device: { name, network: '203.0.113.0/24', ageSeconds: 42 },
      scopes: sample.scopes,
    }),
    'deviceConfirm.consent': deviceConfirmPage(page, {
      action,
      hidden: { [value]: value },
      client: clientOf('unknown'),
      userCode: 'BCDF-GHJK',
      device: { name, network: '203.0.113.0/24', ageSeconds: 42 },
      scopes: sample.scopes,
      consent: { email, trust: 'unknown', scopes: sample.scopes, resource: 'api' },
    }),
    deviceDone: deviceDonePage(page),
    signOut: signOutPage(page, { action, hidden: { xsrf: value } }),
    signedOut: signedOutPage(page, { signInHref: href }),
    message: messagePage(page, { title: name, text: sample.text, href, linkText: name }),
    error: errorPage(page, { error: value, description: sample.text, status: 400 }),
    redirect: redirectPage(page, { to: sample.to }),
  };
}
