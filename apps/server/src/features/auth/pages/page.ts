import { type Locale, localeOf, locales, type Words, wordsOf } from '@svc/words';
import { cookieOf } from '../../../kernel/mount/browsers.ts';
import { address, exactly, html, type Markup, type Piece } from './html.ts';

/** Whom a page speaks to, and where the pages stand. */
export interface PageContext {
  locale: Locale;
  /** Absent: as the system says. */
  theme?: 'light' | 'dark' | undefined;
  /** Path of `{auth_url}` without a slash at its end: '' or '/auth'. */
  base: string;
}

/**
 * Language and theme of a page: those that the person chose in the hub of this browser, which keeps them in two cookies that
 * hold nothing else; without them the browser's language, and the theme of the system.
 */
export function lookOf(cookies: string | undefined, language: string | undefined): Omit<PageContext, 'base'> {
  const [locale, theme] = [cookieOf(cookies, 'svc_locale'), cookieOf(cookies, 'svc_theme')];
  return {
    locale: locales.find((known) => known === locale) ?? localeOf(language),
    ...((theme === 'light' || theme === 'dark') && { theme }),
  };
}

/** Where passkeys work: on this page, at another address, or nowhere on this server. */
export type PasskeyPlace = 'here' | 'never' | { at: string };

interface Layout {
  title: string;
  /** In place of the title, where it holds a stranger's name. */
  heading?: Markup;
  /** Loads the script; pages that do without it load none. */
  script?: boolean;
  /** More for the head. */
  head?: Markup;
  /** Wider, for lists. */
  wide?: boolean;
  /** Below the heading, muted. */
  lead?: Piece;
  body: Piece;
}

/** A whole document. */
export function render(page: PageContext, { title, heading, script, head, wide, lead, body }: Layout): string {
  const at = (path: string): string => address(`${page.base}/assets/${path}`);
  return html`<!doctype html>
<html lang="${page.locale}" dir="ltr"${page.theme !== undefined && html` data-theme="${page.theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
<title>${title} · svc</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${at('style.css')}">
${script === true && html`<script type="module" src="${at('sign-in.js')}"></script>`}${head}
</head>
<body>
<main class="${wide === true ? 'card wide' : 'card'}">
<p class="brand">${mark}svc</p>
<h1>${heading ?? title}</h1>
${lead !== undefined && html`<p class="lead">${lead}</p>`}
${body}
</main>
</body>
</html>
`.toString();
}

const icon =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 24 24%22%3E%3Crect width=%2224%22 height=%2224%22 rx=%227%22 fill=%22%234353d9%22/%3E%3Cpath d=%22M7 9.5l3.5 2.5L7 14.5M12.5 15H17%22 fill=%22none%22 stroke=%22white%22 stroke-width=%222%22 stroke-linecap=%22round%22 stroke-linejoin=%22round%22/%3E%3C/svg%3E';

const mark = html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><rect width="24" height="24" rx="7"></rect><path d="M7 9.5l3.5 2.5L7 14.5M12.5 15H17"></path></svg>`;

/** The texts of a page. */
export const textsOf = ({ locale }: PageContext): Words => wordsOf(locale);

interface Form {
  action?: string | undefined;
  /** Attributes that the script reads, by name. */
  data?: Readonly<Record<string, string>>;
  hidden?: Readonly<Record<string, string>>;
  class?: string;
}

/** A form that posts to `action`, or to the page's own address. */
export function form({ action, data = {}, hidden = {}, class: kind = 'stack' }: Form, body: Piece): Markup {
  const attributes = Object.entries(data).map(([name, value]) => html` data-${name}="${exactly(value)}"`);
  return html`<form method="post"${action !== undefined && action !== '' && html` action="${address(action)}"`} class="${kind}"${attributes}>
${hiddenFields(hidden)}${body}
</form>`;
}

/** Fields that come back as they were given. */
const hiddenFields = (fields: Readonly<Record<string, string>>): Markup =>
  html`${Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${exactly(name)}" value="${exactly(value)}">\n`,
  )}`;

/** A box that is ticked at first. */
export const checkbox = ({
  id,
  name,
  value,
  text,
  isTicked,
}: {
  id: string;
  name: string;
  value: string;
  text: string;
  isTicked: boolean;
}): Markup =>
  html`<label class="check" for="${id}"><input type="checkbox" id="${id}" name="${name}" value="${value}"${isTicked && html` checked`}><span>${text}</span></label>`;

interface Field {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password';
  value?: string | undefined;
  autocomplete: string;
  hint?: string | undefined;
  problem?: string | undefined;
  /** The form shows an `alert` that tells of this field. */
  ofForm?: boolean;
  required?: boolean;
  readonly?: boolean;
  autofocus?: boolean;
  minlength?: number;
  maxlength?: number;
  /** For codes: wide letters, no correction. */
  code?: 'digits' | 'letters' | undefined;
}

/** A field with its label, hint and fault. */
export function field(given: Field): Markup {
  const { name, label, type = 'text', value, hint, problem, minlength, maxlength = 320, code } = given;
  const described = [
    given.ofForm === true && 'form-problem',
    hint !== undefined && `${name}-hint`,
    problem !== undefined && `${name}-problem`,
  ].filter(Boolean);
  const codeAttributes =
    code !== undefined &&
    html` class="code" inputmode="${code === 'digits' ? 'numeric' : 'text'}" autocapitalize="characters" spellcheck="false"`;
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${given.autocomplete}" maxlength="${maxlength}"${minlength !== undefined && html` minlength="${minlength}"`}${codeAttributes}${type === 'email' && html` autocapitalize="none" spellcheck="false"`}${value !== undefined && html` value="${value}"`}${given.required === true && html` required`}${given.readonly === true && html` readonly`}${given.autofocus === true && html` autofocus`}${problem !== undefined && html` aria-invalid="true"`}${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>\n`}${problem !== undefined && html`<p class="problem" role="alert" id="${name}-problem">${problem}</p>\n`}</div>`;
}

/** The fault of a whole form; its fields name it by `ofForm`. */
export const alert = (text: string | undefined): Markup =>
  text === undefined ? html`` : html`<p class="problem box" role="alert" id="form-problem">${text}</p>`;

interface Button {
  kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  name?: string;
  value?: string;
  /** Read to those who do not see what stands beside it. */
  label?: string;
  /** Posts although other fields are empty. */
  novalidate?: boolean;
}

/** A button that posts its form. */
export const button = (text: string, { kind = 'primary', name, value, label, novalidate }: Button = {}): Markup =>
  html`<button type="submit" class="${kind}"${name !== undefined && html` name="${exactly(name)}"`}${value !== undefined && html` value="${exactly(value)}"`}${label !== undefined && html` aria-label="${label}"`}${novalidate === true && html` formnovalidate`}>${text}</button>`;

/** A link that looks like a button. */
export const linkButton = (text: string, href: string, kind = 'primary'): Markup =>
  html`<a class="button ${kind}" href="${address(href)}">${text}</a>`;

/** A line between two ways. */
export const divider = (text: string): Markup => html`<p class="divider"><span>${text}</span></p>`;

/** A button that the script shows and that asks for a passkey; with what it says when that fails. */
export const passkeyButton = (text: string, problem: string, kind: string): Markup =>
  html`<button type="button" class="${kind}" data-passkey-button hidden>${text}</button>
<p class="problem box" role="alert" data-passkey-problem hidden>${problem}</p>`;

/** A button that the script shows and that copies a text, and then says so. */
export const copyButton = (text: string, done: string, value: string): Markup =>
  html`<button type="button" class="plain" data-copy="${exactly(value)}" data-done="${done}" hidden>${text}</button>`;

/** The sentence that names the address where passkeys work. */
export const elsewhere = (text: string, at: string): Markup =>
  html`<p class="hint">${text}<br><a href="${address(at)}">${new URL(at).host}</a></p>`;
