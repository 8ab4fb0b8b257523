import type { Db } from '../../../kernel/db/db.ts';
import { minuteOf, unpackWords } from '../text/words.ts';
import { askedOf, sentencesOf, sharedWith, timesOf } from './place.ts';
import { type ShownRow, wordsOfPlaces } from './search.sql.ts';

/** Where in a passage that was found what was asked for is said: the sentence that shares most with the question. */
interface Nearest {
  row: ShownRow;
  start_ms: number;
  end_ms: number;
  /** Where the sentence begins in the text of the passage, its utterances a space apart. */
  at: number;
}

/** The place of each passage, which is a list of utterances; of one that shares nothing its beginning. */
export async function nearestOf(
  db: Db,
  passages: readonly (readonly ShownRow[])[],
  q: string,
): Promise<(Nearest | undefined)[]> {
  const asked = askedOf(q);
  const chosen = passages.map((rows) => {
    const [first] = rows;
    let before = 0;
    let best = first && { row: first, part: { start: 0, end: first.text.length }, isWhole: true, at: 0, shared: 0 };
    for (const row of rows) {
      const parts = sentencesOf(row.text);
      for (const part of parts) {
        const shared = sharedWith(asked, row.text.slice(part.start, part.end));
        if (!best || shared <= best.shared) continue;
        best = { row, part, isWhole: parts.length === 1, at: before + part.start, shared };
      }
      before += row.text.length + 1;
    }
    return best;
  });
  const inside = chosen.flatMap((one) => (one && !one.isWhole ? [one.row] : []));
  const words = new Map<string, Awaited<ReturnType<typeof unpackWords>>>();
  const places = inside.map((row) => ({ transcript_id: row.transcript_id, minute: minuteOf(row.start_ms) }));
  const packed = places.length === 0 ? [] : await wordsOfPlaces(db, places);
  for (const [id, rows] of Map.groupBy(packed, ({ transcript_id: id }) => id)) words.set(id, await unpackWords(rows));
  return chosen.map((one) => {
    if (!one) return undefined;
    const { row, part, isWhole, at } = one;
    const { start_ms, end_ms } = isWhole ? row : timesOf(row, part, words.get(row.transcript_id)?.get(row.seq) ?? []);
    return { row, start_ms, end_ms, at };
  });
}
