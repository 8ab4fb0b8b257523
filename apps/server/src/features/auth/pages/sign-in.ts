import type { Words } from '@svc/words';
import { address, foreign, html, sentence } from './html.ts';
import {
  alert,
  button,
  divider,
  elsewhere,
  field,
  form,
  type PageContext,
  passkeyButton,
  type PasskeyPlace,
  render,
  textsOf,
} from './page.ts';

interface SignIn {
  action: string;
  email?: string | undefined;
  /** The person of `email` is signed in here, and proves it anew. */
  isKnown?: boolean | undefined;
  /** Set when an app other than ours sent the person here. */
  clientName?: string | undefined;
  problem?: 'wrong' | 'slow' | 'busy' | 'expired' | 'passkey' | undefined;
  /** Of the problem `slow`. */
  waitSeconds?: number | undefined;
  passkeys: PasskeyPlace;
  mailCode: boolean;
  recoverHref: string;
  /** Where people ask for an invitation; unset: they cannot. */
  signUpHref?: string | undefined;
  /** Where the script posts to for the options of a passkey. */
  passkeyOptionsHref: string;
}

/** Who is asked, and for whom. */
function leadOf(texts: Words['signIn'], { isKnown, email, clientName }: SignIn) {
  if (isKnown && email !== undefined) return sentence(texts.againAs, foreign(email));
  return clientName === undefined ? undefined : sentence(texts.to, foreign(clientName));
}

/** Asks for e-mail and password, or a passkey, or a code by mail. */
export function signInPage(page: PageContext, data: SignIn): string {
  const { signIn, signUp, fields, problems } = textsOf(page);
  const { passkeys, problem, waitSeconds } = data;
  const slow = waitSeconds === undefined ? problems.slowAnyway : problems.slow(waitSeconds);
  const said = problem === undefined ? undefined : problem === 'slow' ? slow : problems[problem];
  const isHere = passkeys === 'here';
  const ways = html`${isHere && passkeyButton(signIn.passkey, signIn.passkeyProblem, 'plain')}
${data.mailCode && button(signIn.mail, { kind: 'plain', name: 'way', value: 'mail', novalidate: true })}`;
  return render(page, {
    title: data.isKnown && data.email !== undefined ? signIn.again : signIn.title,
    lead: leadOf(signIn, data),
    script: isHere,
    body: html`${alert(said)}
${form(
  {
    action: data.action,
    ...(isHere && {
      data: { 'passkey-get': address(data.passkeyOptionsHref) },
      hidden: { passkey: '', challenge: '' },
    }),
  },
  html`${field({
    name: 'email',
    label: fields.email,
    type: 'email',
    autocomplete: 'username webauthn',
    value: data.email,
    required: true,
    autofocus: data.email === undefined,
    ofForm: said !== undefined,
  })}
${field({
  name: 'password',
  label: fields.password,
  type: 'password',
  autocomplete: 'current-password',
  maxlength: 128,
  required: true,
  autofocus: data.email !== undefined,
  ofForm: said !== undefined,
})}
${button(signIn.button)}
${(isHere || data.mailCode) && html`<div class="stack ways"${!data.mailCode && html` data-passkey-area hidden`}>${divider(signIn.or)}${ways}</div>`}`,
)}
${typeof passkeys === 'object' && elsewhere(signIn.elsewhere, passkeys.at)}
<p class="foot"><a href="${address(data.recoverHref)}">${signIn.recover}</a></p>
${data.signUpHref !== undefined && html`<p class="foot"><a href="${address(data.signUpHref)}">${signUp.link}</a></p>`}`,
  });
}

interface MailCode {
  action: string;
  email: string;
  problem?: 'wrong' | 'slow' | 'busy' | 'expired' | undefined;
  waitSeconds?: number | undefined;
}

/** Asks for the code of a mail. It says the same whether the address has an account or not. */
export function mailCodePage(page: PageContext, { action, email, problem, waitSeconds }: MailCode): string {
  const { mailCode, fields, problems } = textsOf(page);
  const slow = waitSeconds === undefined ? problems.slowAnyway : problems.slow(waitSeconds);
  const texts = { wrong: problems.wrongCode, slow, busy: problems.busy, expired: problems.expired };
  return render(page, {
    title: mailCode.title,
    lead: sentence(mailCode.sent, foreign(email)),
    body: form(
      { action },
      html`${field({
        name: 'code',
        label: fields.code,
        autocomplete: 'one-time-code',
        code: 'digits',
        maxlength: 9,
        required: true,
        autofocus: true,
        problem: problem && texts[problem],
      })}
${button(mailCode.button)}`,
    ),
  });
}
