import { address, html } from './html.ts';
import { button, form, linkButton, type PageContext, render, textsOf } from './page.ts';

interface SignOut {
  action: string;
  hidden: Readonly<Record<string, string>>;
  /** Name and value of the button that signs out; default: `logout=yes`. The other button posts neither. */
  confirm?: { name: string; value: string };
}

/** Asks whether to sign out. */
export function signOutPage(page: PageContext, { action, hidden, confirm }: SignOut): string {
  const { signOut } = textsOf(page);
  return render(page, {
    title: signOut.title,
    lead: signOut.text,
    body: form(
      { action, hidden },
      html`<div class="pair long">
${button(signOut.button, confirm ?? { name: 'logout', value: 'yes' })}
${button(signOut.stay, { kind: 'plain' })}
</div>`,
    ),
  });
}

/** Says that the person is signed out; with a way back in. */
export function signedOutPage(page: PageContext, { signInHref }: { signInHref?: string | undefined } = {}): string {
  const { signOut, message } = textsOf(page);
  return render(page, {
    title: signOut.doneTitle,
    lead: signOut.doneText,
    body: signInHref !== undefined && linkButton(message.signIn, signInHref, 'plain'),
  });
}

interface Message {
  title: string;
  text: string;
  href?: string | undefined;
  linkText?: string | undefined;
}

/** Says one thing, in words of the page's language. */
export function messagePage(page: PageContext, { title, text, href, linkText }: Message): string {
  const { redirect } = textsOf(page);
  return render(page, {
    title,
    body: html`<p>${text}</p>${href !== undefined && linkButton(linkText ?? redirect.link, href)}`,
  });
}

interface Fault {
  /** Code, such as `invalid_request`. */
  error: string;
  /** In English, for the person who made the app. */
  description: string;
  /** HTTP status. */
  status: number;
}

/** Says that something failed, with the code for who can mend it. */
export function errorPage(page: PageContext, { error, description, status }: Fault): string {
  const { error: texts } = textsOf(page);
  const title =
    status === 404 ? texts.notFound : status === 429 ? texts.slow : status >= 500 ? texts.down : texts.title;
  return render(page, {
    title,
    lead: texts.hint,
    body: html`<dl><dt>${texts.code}</dt><dd><code>${error}</code></dd></dl>
<p class="fact" lang="en">${description}</p>`,
  });
}

/**
 * Sends the browser to `to`. Answer it with 200 in place of a 303 after a form: Chromium applies `form-action` to redirects
 * too. Throws a TypeError when `to` would run code.
 */
export function redirectPage(page: PageContext, { to }: { to: string }): string {
  const { redirect } = textsOf(page);
  const href = address(to);
  return render(page, {
    title: redirect.title,
    lead: redirect.text,
    head: html`<meta http-equiv="refresh" content="0;url=${href}">`,
    body: linkButton(redirect.link, href, 'plain'),
  });
}
