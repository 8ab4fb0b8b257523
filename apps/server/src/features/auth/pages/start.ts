import { address, exactly, html } from './html.ts';
import {
  alert,
  button,
  checkbox,
  copyButton,
  divider,
  elsewhere,
  field,
  form,
  linkButton,
  type PageContext,
  type PasskeyPlace,
  passkeyButton,
  render,
  textsOf,
} from './page.ts';

/** What a one-time link is for. */
export type PagePurpose = 'setup' | 'invite' | 'recover' | 'phone';

interface Token {
  action: string;
  purpose: PagePurpose;
  problem?: 'over' | 'slow' | 'busy' | undefined;
  /** Of the problem `slow`. */
  waitSeconds?: number | undefined;
}

/**
 * The page that a one-time link opens. The script posts the token of the fragment as `token` and removes it from the
 * address; without script the person copies it.
 */
export function tokenPage(page: PageContext, { action, purpose, problem, waitSeconds }: Token): string {
  const { token, fields, problems } = textsOf(page);
  const slow = waitSeconds === undefined ? problems.slowAnyway : problems.slow(waitSeconds);
  const texts = { over: problems.overToken, slow, busy: problems.busy };
  return render(page, {
    title: token[purpose].title,
    lead: token[purpose].text,
    script: true,
    body: form(
      { action, data: { fragment: '' } },
      html`${field({
        name: 'token',
        label: fields.token,
        hint: purpose === 'phone' ? fields.phoneHint : fields.tokenHint,
        autocomplete: 'off',
        maxlength: 512,
        required: true,
        problem: problem && texts[problem],
      })}
${button(token.button)}`,
    ),
  });
}

interface Welcome {
  action: string;
  purpose: PagePurpose;
  email?: string | undefined;
  /** The e-mail is settled: shown, not asked for. */
  emailFixed: boolean;
  name?: string | undefined;
  passkeys: PasskeyPlace;
  passkeyOptionsHref: string;
  problems?:
    | { email?: 'bad' | 'taken' | undefined; password?: PasswordFault | undefined; passkey?: boolean | undefined }
    | undefined;
  /** Proof of the link, for the field `carry`. */
  carry: string;
}

/** Why a password is refused. */
export type PasswordFault = 'short' | 'long' | 'common' | 'isEmail';

/**
 * Asks for e-mail, name and a way to sign in. Posts `carry`, `email`, `name` and `password`, or in place of the password
 * `passkey` (the credential as JSON) and `challenge`.
 */
export function welcomePage(page: PageContext, data: Welcome): string {
  const texts = textsOf(page);
  const { welcome, fields, problems } = texts;
  const { purpose, passkeys, problems: found = {} } = data;
  const isHere = passkeys === 'here';
  const emailTexts = { bad: problems.email, taken: problems.emailTaken };
  const asksName = purpose === 'setup' || purpose === 'invite';
  const passkey = html`<div class="stack" data-passkey-area hidden>
${passkeyButton(welcome.passkey, welcome.passkeyProblem, 'primary')}
<p class="hint">${welcome.passkeyHint}</p>
${divider(welcome.or)}
</div>`;
  return render(page, {
    title: welcome[purpose].title,
    lead: welcome[purpose].text,
    script: isHere,
    body: html`${alert(found.passkey === true ? problems.passkey : undefined)}
${form(
  {
    action: data.action,
    hidden: { carry: data.carry, ...(isHere && { passkey: '', challenge: '' }) },
    ...(isHere && { data: { 'passkey-create': address(data.passkeyOptionsHref) } }),
  },
  html`${field({
    name: 'email',
    label: fields.email,
    type: 'email',
    autocomplete: 'username',
    value: data.email,
    required: true,
    readonly: data.emailFixed,
    problem: found.email && emailTexts[found.email],
  })}
${
  asksName &&
  field({
    name: 'name',
    label: fields.name,
    hint: fields.nameHint,
    autocomplete: 'name',
    maxlength: 100,
    value: data.name,
  })
}
${isHere && passkey}
${newPassword(texts, fields.password, found.password)}
${purpose === 'recover' && html`${onlyThis(welcome.onlyThis)}<p class="hint">${welcome.onlyThisHint}</p>`}
${button(welcome.button)}`,
)}
${typeof passkeys === 'object' && elsewhere(welcome.elsewhere, passkeys.at)}`,
  });
}

/** Whether what let the person in before counts no more. */
const onlyThis = (text: string) => checkbox({ id: 'only', name: 'only', value: 'this', text, isTicked: true });

const newPassword = ({ fields, problems }: ReturnType<typeof textsOf>, label: string, problem?: PasswordFault) =>
  field({
    name: 'password',
    label,
    type: 'password',
    hint: fields.passwordHint,
    autocomplete: 'new-password',
    minlength: 12,
    maxlength: 128,
    required: true,
    problem: problem && problems[problem],
  });

/** Shows the recovery codes, once. */
export function codesPage(
  page: PageContext,
  { codes, nextHref }: { codes: readonly string[]; nextHref: string },
): string {
  const { codes: texts } = textsOf(page);
  return render(page, {
    title: texts.title,
    script: true,
    lead: texts.text,
    body: html`<ol class="codes">
${codes.map((code) => html`<li><code>${exactly(code)}</code></li>\n`)}</ol>
<div class="pair">
${copyButton(texts.copy, texts.copied, codes.join('\n'))}
<a class="button plain" download="svc-recovery-codes.txt" href="data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\n')}\n`)}">${texts.download}</a>
</div>
<p class="warning box">${texts.once}</p>
${linkButton(texts.next, nextHref)}`,
  });
}

interface Recover {
  action: string;
  email?: string | undefined;
  problem?: 'wrong' | 'slow' | 'busy' | PasswordFault | undefined;
  waitSeconds?: number | undefined;
  /** A link can be mailed. */
  mail: boolean;
}

/** Asks for e-mail, a recovery code and a new password; or mails a link. */
export function recoverPage(page: PageContext, { action, email, problem, waitSeconds, mail }: Recover): string {
  const texts = textsOf(page);
  const { recover, fields, problems } = texts;
  const slow = waitSeconds === undefined ? problems.slowAnyway : problems.slow(waitSeconds);
  const ofForm = { wrong: problems.recover, slow, busy: problems.busy };
  const isOfForm = problem === 'wrong' || problem === 'slow' || problem === 'busy';
  return render(page, {
    title: recover.title,
    lead: recover.text,
    body: html`${alert(isOfForm ? ofForm[problem] : undefined)}
${form(
  { action },
  html`${field({ name: 'email', label: fields.email, type: 'email', autocomplete: 'username', value: email, ofForm: isOfForm, required: true })}
${field({ name: 'code', label: fields.recoveryCode, autocomplete: 'off', code: 'letters', maxlength: 40, ofForm: isOfForm, required: true })}
${newPassword(texts, fields.newPassword, isOfForm ? undefined : problem)}
${onlyThis(recover.onlyThis)}
${button(recover.button)}
${
  mail
    ? html`${divider(recover.mailHint)}${button(recover.mail, { kind: 'plain', name: 'way', value: 'mail', novalidate: true })}`
    : html`<p class="hint">${recover.operator}</p>`
}`,
)}`,
  });
}
