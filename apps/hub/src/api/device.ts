/** What this device keeps under a name; undefined where a browser keeps nothing. */
export function keptHere(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a value on this device, where the browser lets it: a full or blocked storage costs a choice, and no page. */
export function keepHere(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // It counts until the page is left.
  }
}

const cookieSeconds = 31_536_000;
/**
 * Tells the sign-in pages, which see nothing of the storage, what this device keeps under a name: a plain word of ours, or
 * nothing to forget it.
 */
export function tellSignIn(name: string, value: string): void {
  const age = value === '' ? 0 : cookieSeconds;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `${name}=${value}; Path=/; Max-Age=${age}; SameSite=Lax${secure}`;
}
