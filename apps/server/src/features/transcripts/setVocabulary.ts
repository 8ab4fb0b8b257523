import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { putVocabulary } from './library/vocabulary.sql.ts';

/** For recordings that are transcribed from now on; terms that stand twice stand once. */
export const setVocabulary = operation(contract.transcripts.setVocabulary, ({ db, clock, actor }, { body }) => {
  const terms = new Map(body.entries.map((entry) => [entry.term.trim().normalize('NFC'), entry]));
  const entries = [...terms].map(([term, entry]) => ({ ...entry, term }));
  return putVocabulary(db, clock, actor.accountId, entries);
});
