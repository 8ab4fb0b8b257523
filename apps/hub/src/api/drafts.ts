const prefix = 'svc-draft-';

/** The name under which this tab keeps what a form of a person holds. */
export const draftKey = (accountId: string | undefined, name: string): string => `${prefix}${accountId ?? ''}-${name}`;

/** Forgets what forms of anybody else hold; of everybody when nobody is signed in. */
export function forgetDrafts(butOf?: string): void {
  const own = butOf === undefined ? undefined : draftKey(butOf, '');
  for (const key of Object.keys(sessionStorage))
    if (key.startsWith(prefix) && (own === undefined || !key.startsWith(own))) sessionStorage.removeItem(key);
}
