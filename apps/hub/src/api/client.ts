import { createClient, isSvcError, type SvcError } from '@svc/sdk';
import { learnTime } from './clock.ts';
import { accountHere } from './store.ts';

const meta = (name: string): string => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';

/** Path of the hub without a slash at its end, such as `/hub`. */
export const hubPath = meta('svc-hub');
/** The address by which others reach the API. */
export const apiUrl = meta('svc-api');

/** Hears that this browser is signed out, at each refusal. */
const onSignedOut = new Set<() => void>();

/** Calls `hear` at each answer that says that this browser is signed out; answers how to stop. */
export function whenSignedOut(hear: () => void): () => void {
  onSignedOut.add(hear);
  return () => onSignedOut.delete(hear);
}

/**
 * What the API answers where nobody is signed in. A 401 without it is of a proxy before the API, and says nothing of
 * that.
 */
export const signedOutCode = 'invalid_api_key';

async function saysSignedOut(answer: Response): Promise<boolean> {
  if (answer.status !== 401) return false;
  const body = (await answer
    .clone()
    .json()
    .catch(() => undefined)) as { error?: { code?: unknown } } | null | undefined;
  return body?.error?.code === signedOutCode;
}

/** Whose page this is. */
const account = accountHere();

/** Another tab signed somebody else in: this page is of the one before, and does nothing as the other. */
function checkAccount(): void {
  const now = accountHere();
  if (account === undefined || now === undefined || now === account) return;
  location.replace(`${hubPath}/`);
  throw new Error('somebody else is signed in by now');
}

/** The API as the signed-in person: the browser adds the cookie, and our header says that a page of ours asks. */
export const api = createClient({
  baseUrl: '',
  retries: 1,
  onWarning: () => {},
  async fetch(url, init) {
    checkAccount();
    const headers = new Headers(init?.headers);
    headers.set('x-svc-hub', '1');
    const ask = (): Promise<Response> => fetch(url, { ...init, headers, credentials: 'same-origin' });
    let answer = await ask();
    // Another tab may have been given another cookie while this was on its way, and a request that is refused does
    // nothing.
    if ((await saysSignedOut(answer)) && !(init?.body instanceof ReadableStream)) answer = await ask();
    learnTime(answer);
    if (await saysSignedOut(answer)) for (const hear of onSignedOut) hear();
    return answer;
  },
});

/** The failure that the API answered; undefined for any other fault. */
export const failureOf = (error: unknown): SvcError | undefined => (isSvcError(error) ? error : undefined);

/** Whether the gateway was not reached: nothing is known of what it would have said. */
export function isUnreached(error: unknown): boolean {
  const failure = failureOf(error);
  return failure !== undefined && (failure.code === 'connection_error' || failure.code === 'timeout');
}

/** Sends the browser to sign in, and back to the page that it shows. */
export async function signIn(): Promise<void> {
  const here = location.pathname.slice(hubPath.length) + location.search;
  const answer = await fetch(`${hubPath}/login/start`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ return_to: here === '' ? '/' : here }),
  });
  if (!answer.ok) throw new Error(`signing in cannot begin (${answer.status})`);
  const { redirect_to: to } = (await answer.json()) as { redirect_to: string };
  location.assign(to);
}

/** Ends the login of this browser. */
export async function signOut(): Promise<void> {
  await fetch(`${hubPath}/login`, { method: 'DELETE', credentials: 'same-origin' });
}
