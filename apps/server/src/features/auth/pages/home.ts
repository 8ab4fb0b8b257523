import type { Words } from '@svc/words';
import { scopeList } from './consent.ts';
import { foreign, html, type Markup, short } from './html.ts';
import { button, form, type PageContext, render, textsOf } from './page.ts';

interface ShownLogin {
  id: string;
  name?: string | undefined;
  lastSeen: Date;
  current: boolean;
}

interface ShownConnection {
  id: string;
  name: string;
  host?: string | undefined;
  scopes: readonly string[];
}

interface Home {
  email: string;
  logins: readonly ShownLogin[];
  connections: readonly ShownConnection[];
  action: string;
  /** Hidden fields of every form, such as proof against forged posts. */
  hidden?: Readonly<Record<string, string>>;
  /** IANA name; default: UTC. */
  timeZone?: string | undefined;
}

/**
 * What a signed-in person sees until there is a hub. Posts `disconnect` (a connection's id), `end` (a login's id),
 * `others=end` or `current=end`.
 */
export function homePage(page: PageContext, data: Home): string {
  const { home } = textsOf(page);
  const { action, hidden = {}, logins, connections } = data;
  const others = logins.some(({ current }) => !current);
  return render(page, {
    title: home.title,
    wide: true,
    lead: html`${home.as} ${foreign(data.email)}`,
    body: form(
      { action, hidden },
      html`<section aria-labelledby="apps">
<h2 id="apps">${home.apps}</h2>
${connections.length === 0 ? html`<p class="hint">${home.noApps}</p>` : html`<ul class="rows">\n${connections.map((one) => connectionRow(page, one, home))}</ul>`}
</section>
<section aria-labelledby="devices">
<h2 id="devices">${home.devices}</h2>
<ul class="rows">
${logins.map((one) => loginRow(page, one, home, data.timeZone))}</ul>
</section>
<div class="pair long">
${others && button(home.others, { kind: 'plain', name: 'others', value: 'end' })}
${button(home.out, { name: 'current', value: 'end' })}
</div>`,
    ),
  });
}

const connectionRow = (page: PageContext, { id, name, host, scopes }: ShownConnection, home: Words['home']): Markup =>
  html`<li>
<div class="what"><strong>${foreign(name)}</strong>${host !== undefined && html`<span class="hint">${foreign(host)}</span>`}
${scopes.length > 0 && html`<details><summary>${home.may}</summary>${scopeList(page, scopes)}</details>`}</div>
${button(home.disconnect, { kind: 'danger', name: 'disconnect', value: id, label: home.disconnectOf(short(name)) })}
</li>
`;

function loginRow(page: PageContext, login: ShownLogin, home: Words['home'], timeZone = 'UTC'): Markup {
  const name = login.name === undefined || login.name === '' ? home.unnamed : login.name;
  const seen = new Intl.DateTimeFormat(page.locale, { dateStyle: 'medium', timeStyle: 'short', timeZone });
  const zone = timeZone === 'UTC' ? ' UTC' : '';
  return html`<li>
<div class="what"><strong>${foreign(name)}</strong>
<span class="hint">${login.current ? html`<span class="badge">${home.current}</span>` : html`${home.seen}: <time datetime="${login.lastSeen.toISOString()}">${seen.format(login.lastSeen)}${zone}</time>`}</span></div>
${!login.current && button(home.end, { kind: 'plain', name: 'end', value: login.id, label: home.endOf(short(name)) })}
</li>
`;
}
