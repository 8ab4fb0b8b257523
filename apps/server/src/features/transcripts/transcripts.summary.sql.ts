import { namedStatement } from '../../kernel/db/named.ts';
import { listText } from '../../kernel/machine.ts';
import { transcriptStatesTable } from './transcripts.states.ts';
import { statement } from '../../kernel/db/statement.ts';

/** Recordings of an account that are worked on, and that failed since an instant. */
export const countRecordings = statement<{ processing: number; failed: number }>(`
  select (count(*) filter (where state in ${listText(transcriptStatesTable.where('processing'))}))::int as processing,
    (count(*) filter (where state = 'failed' and updated_at > $2::timestamptz))::int as failed
  from transcripts.transcripts where account_id = $1`);

/** Recordings that failed since an instant, the newest first. */
export const listBroken = statement<{ id: string; title: string | null; error: string | null; since: string }>(`
  select id, title, left(error, 300) as error, updated_at as since from transcripts.transcripts
  where account_id = $1 and state = 'failed' and updated_at > $2::timestamptz order by updated_at desc limit $3`);

/** Recordings by a part of their title, which a trigger keeps beside the insights that may have it. */
export const findRecordings = namedStatement('transcripts.transcripts', 'found_title');
