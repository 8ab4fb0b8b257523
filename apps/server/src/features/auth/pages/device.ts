import { type Choices, choices, clientFacts, type ShownClient, scopeList } from './consent.ts';
import { exactly, foreign, html, sentence, short } from './html.ts';
import { button, field, form, type PageContext, render, textsOf } from './page.ts';

interface Device {
  action: string;
  hidden?: Readonly<Record<string, string>>;
  /** Filled in from the address; only the person posts it. */
  userCode?: string | undefined;
  problem?: 'wrong' | 'slow' | undefined;
}

/** Asks for the code that a device shows. */
export function devicePage(page: PageContext, { action, hidden = {}, userCode, problem }: Device): string {
  const { device, fields, problems } = textsOf(page);
  const texts = { wrong: device.problem, slow: problems.slowAnyway };
  return render(page, {
    title: device.title,
    lead: device.text,
    body: form(
      { action, hidden },
      html`${field({
        name: 'user_code',
        label: fields.userCode,
        autocomplete: 'off',
        code: 'letters',
        maxlength: 20,
        required: true,
        value: userCode,
        autofocus: userCode === undefined,
        problem: problem && texts[problem],
      })}
${button(device.button)}`,
    ),
  });
}

/** Name and value of a button. */
interface Answer {
  name: string;
  value: string;
}

interface DeviceConfirm {
  action: string;
  hidden: Readonly<Record<string, string>>;
  client: ShownClient;
  device: { name?: string | undefined; network?: string | undefined; ageSeconds: number };
  userCode: string;
  scopes: readonly string[];
  /** Whoever is signed in decides here what the device gets: nothing is asked once more. */
  consent?: Choices & { email: string };
  /** Default: `confirm=yes`. */
  allow?: Answer;
  /** Default: `abort=yes`. */
  cancel?: Answer;
}

const confirm: Answer = { name: 'confirm', value: 'yes' };
const abort: Answer = { name: 'abort', value: 'yes' };

/** Asks whether the device that shows this code may be connected. */
export function deviceConfirmPage(page: PageContext, data: DeviceConfirm): string {
  const { device, consent } = textsOf(page);
  const { client, device: shown, scopes, consent: decides, allow = confirm, cancel = abort } = data;
  const fact = (label: string, text: string | undefined) =>
    text !== undefined && html`<dt>${label}</dt><dd>${foreign(text)}</dd>\n`;
  return render(page, {
    title: device.confirmTitle(short(client.name)),
    heading: sentence(device.confirmTitle, foreign(client.name)),
    lead: device.compare,
    body: html`<p class="user-code"><code>${exactly(data.userCode)}</code></p>
<p class="warning box"><strong>${device.warning}</strong></p>
${clientFacts({ ...client, goesTo: undefined }, consent)}
<dl>
${fact(device.name, shown.name)}${fact(device.network, shown.network)}${fact(device.age, device.ago(shown.ageSeconds))}</dl>
${!decides && scopes.length > 0 && html`<h2>${device.may}</h2>${scopeList(page, scopes)}`}
${form(
  { action: data.action, hidden: data.hidden },
  html`${decides && html`<p>${foreign(client.name)} ${consent.asks} ${foreign(decides.email)}.</p>\n${choices(page, decides)}\n`}<div class="pair">
${button(consent.allow, allow)}
${button(consent.cancel, { kind: 'plain', ...cancel })}
</div>`,
)}`,
  });
}

/** Says that the device is connected. */
export function deviceDonePage(page: PageContext): string {
  const { device } = textsOf(page);
  return render(page, { title: device.doneTitle, body: html`<p>${device.doneText}</p>` });
}
