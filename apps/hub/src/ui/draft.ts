import { draftKey, readDraft, writeDraft } from '../api/drafts.ts';
import { accountHere } from '../api/store.ts';
import { type Dispatch, type StateUpdater, useEffect, useState } from 'preact/hooks';

/**
 * What a form holds, kept in this tab: it survives an expired login, a reload and a write that failed. Not for secrets. The
 * third value forgets it, after the write went well.
 */
export function useDraft<T extends object>(name: string, empty: T): [T, Dispatch<StateUpdater<T>>, () => void] {
  const key = draftKey(accountHere(), name);
  const [draft, setDraft] = useState<T>(() => {
    try {
      return { ...empty, ...(JSON.parse(readDraft(key) ?? '{}') as Partial<T>) };
    } catch {
      return empty;
    }
  });
  useEffect(() => writeDraft(key, JSON.stringify(draft)), [key, draft]);
  const forget = (): void => {
    setDraft(empty);
    writeDraft(key, undefined);
  };
  return [draft, setDraft, forget];
}
