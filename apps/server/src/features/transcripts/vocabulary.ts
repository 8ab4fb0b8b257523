import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { vocabularyOf } from './library/vocabulary.sql.ts';

export const vocabulary = operation(contract.transcripts.vocabulary, ({ db, actor }) =>
  vocabularyOf(db, actor.accountId),
);
