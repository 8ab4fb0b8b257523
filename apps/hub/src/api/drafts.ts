const prefix = 'svc-draft-';

/** The name under which this tab keeps what a form of a person holds. */
export const draftKey = (accountId: string | undefined, name: string): string => `${prefix}${accountId ?? ''}-${name}`;

/** What a form holds, as this tab kept it; undefined where nothing is kept. */
export function readDraft(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps what a form holds, where the browser lets it; undefined forgets it. */
export function writeDraft(key: string, text: string | undefined): void {
  try {
    if (text === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // It is there until the tab is left.
  }
}

/** Forgets what forms of anybody else hold; of everybody when nobody is signed in. */
export function forgetDrafts(butOf?: string): void {
  const own = butOf === undefined ? undefined : draftKey(butOf, '');
  for (const key of draftKeys()) if (own === undefined || !key.startsWith(own)) writeDraft(key, undefined);
}

function draftKeys(): string[] {
  try {
    return Object.keys(sessionStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}
