import type { AssembledWord } from '@svc/speech';
import type { Db } from '../../../kernel/db/db.ts';
import { toUtterance } from '../transcripts.view.ts';
import { utterancesIn, wordsOfMinutes } from './text.sql.ts';
import { minuteOf, unpackWords } from './words.ts';

/** Utterances and words of one answer; ten minutes of one speaker have 1,500. */
const mostValues = 20_000;
/** About, of their JSON. */
const mostBytes = 4 * 1024 * 1024;
/** What an utterance or a word takes besides its letters. */
const bareBytes = 90;
/** Utterances that are looked through for one answer. */
const mostRows = 5_000;
/** Minutes whose words are read at once. */
const minutesAtOnce = 10;

/** Utterances of a span of time with their words, as many as one answer has, and the number of the one after them. */
export async function pageOfWords(db: Db, id: string, span: { fromMs: number; toMs: number; seq: number }) {
  const rows = await utterancesIn(db, id, { ...span, limit: mostRows + 1 });
  const read = new Set<number>();
  const all = new Map<number, AssembledWord[]>();
  const utterances: ReturnType<typeof toUtterance>[] = [];
  let [values, bytes] = [0, 0];
  for (const row of rows.slice(0, mostRows)) {
    const minute = minuteOf(row.start_ms);
    if (!read.has(minute)) {
      const last = minute + minutesAtOnce - 1;
      for (let one = minute; one <= last; one += 1) read.add(one);
      for (const [seq, own] of await unpackWords(await wordsOfMinutes(db, id, minute, last))) all.set(seq, own);
    }
    const own = all.get(row.seq) ?? [];
    values += 1 + own.length;
    bytes += own.reduce((sum, { text }) => sum + bareBytes + text.length, 4 * bareBytes + 2 * row.text.length);
    if (utterances.length > 0 && (values > mostValues || bytes > mostBytes)) return { utterances, next: row.seq };
    utterances.push(toUtterance(row, all.get(row.seq)));
    all.delete(row.seq);
  }
  return { utterances, next: rows[mostRows]?.seq };
}
