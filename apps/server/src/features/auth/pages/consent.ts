import { isTicked } from '@svc/contract';
import { type ScopeGroup, scopeGroups, scopeWords, type Words } from '@svc/words';
import { foreign, html, type Markup, sentence, short } from './html.ts';
import { button, checkbox, form, type PageContext, render, textsOf } from './page.ts';

/** An app as a page names it. */
export interface ShownClient {
  name: string;
  /** Host of the document that says what it is. */
  host?: string | undefined;
  /** Where answers go: a host, or a scheme such as `cursor://`. */
  goesTo?: string | undefined;
  trust: 'first-party' | 'registered' | 'document' | 'unknown';
}

interface Consent {
  action: string;
  client: ShownClient;
  /** Of the person who is signed in. */
  email: string;
  /** What the app asks for; each may be given or not. */
  scopes: readonly string[];
  /** What it asked for and is not given in any case. */
  leftOut?: readonly string[];
  /** How long the app keeps what it gets, in words of the page's language. */
  keyLife?: string | undefined;
  resource: 'api' | 'mcp';
  /**
   * A device asks, by a code that anybody may have sent to the person (RFC 8628, 5.4): all that is strong is ticked by
   * hand.
   */
  byCode?: boolean;
}

/** What is chosen of. */
export type Choices = Pick<Consent, 'scopes' | 'leftOut' | 'keyLife' | 'resource' | 'byCode'> &
  Pick<ShownClient, 'trust'>;

/** The scopes with a box each, what is not given in any case, and how long it lasts: a part of a form. */
export function choices(page: PageContext, given: Choices): Markup {
  const { scopes, leftOut = [], keyLife, resource, trust, byCode } = given;
  const { consent } = textsOf(page);
  const groups = scopeGroups.map((group) =>
    checkboxes(page, consent[group], { group, scopes, trust, ...(byCode === true && { byCode }) }),
  );
  return html`${scopes.length === 0 ? html`<p>${consent.none}</p>` : html`<p class="hint">${consent.less}</p>${groups}`}
${leftOut.length > 0 && html`<details><summary>${consent.leftOut}</summary>\n${scopeList(page, leftOut)}</details>`}
${scopes.length > 0 && html`<p class="hint">${consent[resource]}${keyLife !== undefined && html` ${consent.life} ${keyLife}.`} ${consent.take}</p>`}`;
}

/** Asks which of the scopes an app gets. Posts `scope` for each that is ticked, and `decision`: `allow` or `cancel`. */
export function consentPage(page: PageContext, given: Consent): string {
  const { action, client, email } = given;
  const { consent } = textsOf(page);
  return render(page, {
    title: consent.title(short(client.name)),
    heading: sentence(consent.title, foreign(client.name)),
    lead: html`${foreign(client.name)} ${consent.asks} ${foreign(email)}.`,
    body: html`${clientFacts(client, consent)}
${form(
  { action },
  html`${choices(page, { ...given, trust: client.trust })}
<div class="pair">
${button(consent.allow, { name: 'decision', value: 'allow' })}
${button(consent.cancel, { kind: 'plain', name: 'decision', value: 'cancel' })}
</div>`,
)}`,
  });
}

/** An app of the person's own machine, whose port says nothing. */
const isHere = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Who an app is, and where answers to it go; with a warning when nobody vouches for it. */
export const clientFacts = ({ host, goesTo, trust }: ShownClient, words: Words['consent']): Markup =>
  html`${
    trust === 'unknown'
      ? html`<p class="warning box"><strong>${words.unknown}.</strong> ${words.unknownText}</p>`
      : html`<p class="trust">${words.trust[trust]}${host !== undefined && html`: <strong>${foreign(host)}</strong>`}</p>`
  }
${goesTo !== undefined && html`<p class="fact">${words.goesTo} ${placeOf(goesTo, words)}</p>`}`;

function placeOf(goesTo: string, { here, opens }: Words['consent']): Markup {
  if (isHere.test(goesTo)) return html`<strong>${here}</strong>`;
  return html`${goesTo.endsWith('://') && `${opens} `}<strong>${foreign(goesTo)}</strong>`;
}

/** A group of scopes with a box each; nothing when none is asked for. */
function checkboxes(
  { locale }: PageContext,
  heading: string,
  { group, scopes, trust, byCode = false }: Pick<Choices, 'scopes' | 'trust' | 'byCode'> & { group: ScopeGroup },
): Markup {
  const own = [...new Set(scopes)]
    .map((scope, at) => ({ scope, id: `scope-${at}`, ...scopeWords(scope, locale) }))
    .filter((one) => one.group === group);
  if (own.length === 0) return html``;
  return html`<fieldset>
<legend>${heading}</legend>
${own.map(({ scope, id, text }) => html`${checkbox({ id, name: 'scope', value: scope, text, isTicked: isTicked(scope, trust, byCode) })}\n`)}</fieldset>`;
}

/** Scopes in words, as a list without boxes. */
export const scopeList = ({ locale }: PageContext, scopes: readonly string[]): Markup =>
  html`<ul class="scopes">
${[...new Set(scopes)].map((scope) => html`<li>${scopeWords(scope, locale).text}</li>\n`)}</ul>`;
