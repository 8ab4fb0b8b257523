import { tokenPage } from '../pages/start.ts';
import { phonePage } from '../pages/phone.ts';
import { nameOfBrowser } from '../people/browsers.ts';
import { claimPhoneLink, finishPhone } from '../people/phones.ts';
import { typedCode } from '../people/secrets.ts';
import type { FlowParts } from './parts.ts';
import type { PageVisit } from './visit.ts';

/** What a phone holds that took a link: 32 random bytes, and the number that it shows. */
const claimCookie = '__Host-svc_claim';
/** A link lives no longer. */
const claimSeconds = 300;
/**
 * The person proved who they are on another device: on the phone that counts as a day old at least, so that what needs a
 * fresh proof asks for one.
 */
const proofAgeMs = 86_400_000;

/** The page of a phone: the token of a QR code or eight letters, then a number until the other device picked it. */
export async function phone(visit: PageVisit, parts: FlowParts): Promise<void> {
  const { page } = visit;
  const action = page.base + visit.path;
  const ask = (status: number, problem?: { problem: 'over' | 'slow'; waitSeconds?: number }): void =>
    visit.html(status, tokenPage(page, { action, purpose: 'phone', ...problem }));
  if (visit.method !== 'POST') {
    const held = readClaim(visit.cookie(claimCookie));
    return held ? goOn(visit, parts, held, ask) : ask(200);
  }
  visit.checkOwn();
  const form = await visit.form();
  const answer = await claim(visit, parts, (form.get('token') ?? '').trim().replace(/^.*#/, ''));
  if (answer === undefined) return ask(400, { problem: 'over' });
  if ('waitSeconds' in answer) return ask(429, { problem: 'slow', waitSeconds: answer.waitSeconds });
  visit.setCookie(claimCookie, `${answer.number}.${answer.claim}`, { maxAge: claimSeconds, sameSite: 'Lax' });
  visit.html(200, phonePage(page, { number: answer.number, href: action }));
}

const letters = /^[A-Z]{8}$/;

/** Takes the link of a token, or of a code that was typed. Codes are few enough to be guessed: wrong ones slow their network down. */
async function claim(
  visit: PageVisit,
  { kernel, guesses, identity }: FlowParts,
  text: string,
): Promise<{ claim: string; number: number } | { waitSeconds: number } | undefined> {
  const { network, request } = visit;
  const device = { ...nameOfBrowser(request.headers['user-agent']), network };
  const code = typedCode(text);
  if (!letters.test(code)) {
    const found = await claimPhoneLink(kernel, { token: text }, device);
    if (!found) identity.strangers.note(visit.address);
    return found;
  }
  // By network alone: nobody else waits for it. Eight wrong ones fit into ten minutes.
  const attempt = await guesses.begin({ accountId: null, email: `phone ${network}`, network });
  if ('waitSeconds' in attempt) return attempt;
  const found = await claimPhoneLink(kernel, { code }, device);
  // Not forgotten: who has a link of their own must not guess on for free.
  if (found) await attempt.takeBack();
  return found;
}

/** Signs the phone in once the number was picked; shows it until then. */
async function goOn(
  visit: PageVisit,
  { kernel, identity }: FlowParts,
  { claim: held, number }: { claim: string; number: number },
  ask: (status: number, problem: { problem: 'over' }) => void,
): Promise<void> {
  const { page } = visit;
  const answer = await finishPhone(kernel, { claim: held });
  if (answer === 'waiting') return visit.html(200, phonePage(page, { number, href: page.base + visit.path }));
  visit.setCookie(claimCookie, null, { maxAge: 0, sameSite: 'Lax' });
  if (answer === undefined) return ask(400, { problem: 'over' });
  const provedAt = Math.min(kernel.clock.now() - proofAgeMs, answer.provedAt ?? Infinity);
  await identity.startSession(visit, answer.accountId, ['phone'], provedAt);
  visit.redirect(identity.homeFor(visit));
}

function readClaim(text = ''): { claim: string; number: number } | undefined {
  const [, number, held] = /^(\d\d)\.([\w-]{43})$/.exec(text) ?? [];
  return held === undefined ? undefined : { claim: held, number: Number(number) };
}
