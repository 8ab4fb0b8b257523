/**
 * The one script of the pages, served with its types stripped. Pages work without it: it adds passkeys, copies what is shown
 * once, and posts the token that a link carries in its fragment. It imports nothing, and takes what it does from `data-` attributes.
 */

/** What it uses of a browser: the repository is checked without the types of the DOM, which differ from those of Node.js. */
interface Element {
  hidden: boolean;
  disabled: boolean;
  value: string;
  textContent: string | null;
  dataset: Record<string, string | undefined>;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
  addEventListener(type: string, listener: () => void): void;
  reportValidity(): boolean;
  submit(): void;
  focus(): void;
}
interface Descriptor {
  id: string | ArrayBuffer;
}
/** Options of the server: JSON, or with bytes in place of base64url. */
interface Options {
  challenge: string | ArrayBuffer;
  user?: { id: string | ArrayBuffer; name: string; displayName: string };
  allowCredentials?: Descriptor[];
  excludeCredentials?: Descriptor[];
}
interface Credential {
  id: string;
  rawId: ArrayBuffer;
  type: string;
  authenticatorAttachment?: string | null;
  response: Record<string, unknown> & { getTransports?(): string[] };
  getClientExtensionResults(): object;
  toJSON?(): object;
}
interface Request {
  publicKey: Options;
  signal: AbortSignal;
  mediation?: 'conditional';
}
interface Credentials {
  get(request: Request): Promise<Credential | null>;
  create(request: Request): Promise<Credential | null>;
}
interface Passkeys {
  parseCreationOptionsFromJSON?(options: Options): Options;
  parseRequestOptionsFromJSON?(options: Options): Options;
  isConditionalMediationAvailable?(): Promise<boolean>;
}
declare const document: Element;
declare const location: { hash: string; pathname: string; search: string };
declare const history: { replaceState(state: null, unused: string, url: string): void };
const browser = globalThis as unknown as {
  PublicKeyCredential?: Passkeys;
  navigator: { credentials?: Credentials; clipboard?: { writeText(text: string): Promise<void> } };
};

const toBytes = (text: string | ArrayBuffer): ArrayBuffer =>
  typeof text === 'string'
    ? Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0)).buffer
    : text;

const toText = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');

/** Options with bytes, for browsers that do not read JSON themselves. */
function parsed(options: Options): Options {
  const ids = (list: Descriptor[] = []) => list.map((one) => ({ ...one, id: toBytes(one.id) }));
  const { user, allowCredentials, excludeCredentials } = options;
  return {
    ...options,
    challenge: toBytes(options.challenge),
    ...(user && { user: { ...user, id: toBytes(user.id) } }),
    ...(allowCredentials && { allowCredentials: ids(allowCredentials) }),
    ...(excludeCredentials && { excludeCredentials: ids(excludeCredentials) }),
  };
}

/** A credential as JSON, by the browser or by hand. */
function written(credential: Credential): object {
  if (credential.toJSON) return credential.toJSON();
  const response: Record<string, unknown> = {};
  for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
    const bytes = credential.response[name];
    if (bytes instanceof ArrayBuffer) response[name] = toText(bytes);
  }
  const transports = credential.response.getTransports?.();
  return {
    id: credential.id,
    rawId: toText(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: transports ? { ...response, transports } : response,
  };
}

const fieldOf = (form: Element, name: string) => form.querySelector(`[name="${name}"]`);

function fill(form: Element, name: string, value: string): void {
  const field = fieldOf(form, name);
  if (field) field.value = value;
}

/** Asks the server for options, the browser for a credential, and posts it in the form. */
async function usePasskey(form: Element, href: string, isNew: boolean, signal: AbortSignal, mediation?: 'conditional') {
  const { PublicKeyCredential: passkeys, navigator } = browser;
  const answer = await fetch(href, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(isNew ? { carry: fieldOf(form, 'carry')?.value } : {}),
    signal,
  });
  if (!answer.ok) throw new Error(String(answer.status));
  const { challenge_id: challenge, ...options } = (await answer.json()) as Options & { challenge_id: string };
  if (isNew && options.user) {
    // The name under which the device keeps it: what the person typed, not what the server knew before.
    const email = fieldOf(form, 'email')?.value;
    if (email) options.user = { ...options.user, name: email, displayName: fieldOf(form, 'name')?.value || email };
  }
  const parse = isNew ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON';
  const publicKey = passkeys?.[parse]?.(options) ?? parsed(options);
  const request = { publicKey, signal, ...(mediation && { mediation }) };
  const credential = await navigator.credentials?.[isNew ? 'create' : 'get'](request);
  if (!credential) throw new Error('no credential');
  fill(form, 'passkey', JSON.stringify(written(credential)));
  fill(form, 'challenge', challenge);
  form.submit();
}

/** Shows the button for passkeys and offers them in the e-mail field where the browser can. */
function offerPasskeys(form: Element, href: string, isNew: boolean): void {
  if (!browser.PublicKeyCredential || !browser.navigator.credentials) return;
  const button = form.querySelector('[data-passkey-button]');
  const problem = form.querySelector('[data-passkey-problem]');
  let running = new AbortController();
  for (const area of form.querySelectorAll('[data-passkey-area], [data-passkey-button]')) area.hidden = false;
  button?.addEventListener('click', () => {
    const email = fieldOf(form, 'email');
    if (isNew && email && !email.reportValidity()) return;
    // A browser asks for one credential at a time.
    running.abort();
    running = new AbortController();
    button.disabled = true;
    if (problem) problem.hidden = true;
    usePasskey(form, href, isNew, running.signal).catch(() => {
      button.disabled = false;
      if (problem) problem.hidden = false;
    });
  });
  if (isNew) return;
  const { signal } = running;
  const autofill = async () => {
    if (!(await browser.PublicKeyCredential?.isConditionalMediationAvailable?.())) return;
    if (!signal.aborted) await usePasskey(form, href, false, signal, 'conditional');
  };
  // Nobody asked for it: when it fails, the button and the password are still there.
  autofill().catch(() => undefined);
}

/** Posts the token of the fragment; it leaves the address first, so that no history keeps it. */
function postFragment(form: Element): void {
  const token = location.hash.slice(1);
  if (token === '') return;
  history.replaceState(null, '', location.pathname + location.search);
  if (!/^[\w.~-]{1,512}$/.test(token)) return;
  fill(form, 'token', token);
  form.submit();
}

/** Shows a button that copies, where the page may: the clipboard needs https or this machine. */
function offerCopy(button: Element): void {
  const { clipboard } = browser.navigator;
  const { copy = '', done = '' } = button.dataset;
  if (!clipboard) return;
  button.hidden = false;
  button.addEventListener('click', () => {
    clipboard.writeText(copy).then(
      () => {
        button.textContent = done;
      },
      () => {
        button.hidden = true;
      },
    );
  });
}

for (const button of document.querySelectorAll('[data-copy]')) offerCopy(button);
for (const form of document.querySelectorAll('form')) {
  const { passkeyGet, passkeyCreate, fragment } = form.dataset;
  if (passkeyGet !== undefined) offerPasskeys(form, passkeyGet, false);
  if (passkeyCreate !== undefined) offerPasskeys(form, passkeyCreate, true);
  if (fragment !== undefined) postFragment(form);
}
