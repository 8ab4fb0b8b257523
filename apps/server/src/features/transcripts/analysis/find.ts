import { contentWords } from '@svc/insights';
import type { Db } from '../../../kernel/db/db.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Context } from '../../../kernel/http/context.ts';
import type { Inference } from '../../inference/index.ts';
import { type FoundRow, findByNames, findByWords } from './search.sql.ts';
import { likeness, quantised, vectorModel } from './vectors.ts';
import { hasVectors, nearestVectors, type Scope } from './vectors.sql.ts';

/** Of reciprocal rank fusion: how much the first places count more than later ones. */
const fusion = 60;
const mostOfWay = 400;
/** Words of a question that are looked for, stop words aside. */
const mostWords = 32;
/** Letters of a word that may be a name. */
const shortestName = 3;
/** Signs that are compared exactly (design: 400 for a recall of 0.99). */
const mostNear = 400;

type Found = 'words' | 'name' | 'meaning';

/** A passage that was found; of one utterance, but for meaning. */
export interface Hit {
  transcript_id: string;
  seq: number;
  to_seq: number;
  score: number;
  matched: Found[];
}

/** The question, and by which ways it is asked. */
interface Finding {
  q: string;
  mode: 'hybrid' | 'text' | 'semantic';
  scope: Scope;
}

/**
 * Finds utterances by words, by names that are spelt alike, and by meaning, and merges the three lists by rank. `degraded`:
 * meaning was wanted and no model makes vectors.
 */
export async function find(
  context: Context,
  inference: Inference,
  { q, mode, scope }: Finding,
): Promise<{ hits: Hit[]; degraded: 'semantic'[] }> {
  const { db, actor } = context;
  const ways = mode === 'semantic' ? [] : await byText(db, actor.accountId, { q, scope });
  const near = mode === 'text' ? [] : await byMeaning(context, inference, q, scope);
  if (near) ways.push(['meaning', near]);
  return { hits: merged(ways), degraded: near ? [] : ['semantic'] };
}

/** The same by words and names alone, which ask no model. */
export async function findText(db: Db, accountId: string, asked: Pick<Finding, 'q' | 'scope'>): Promise<Hit[]> {
  return merged(await byText(db, accountId, asked));
}

type Ways = [Found, readonly Pick<Hit, 'transcript_id' | 'seq' | 'to_seq'>[]][];

async function byText(db: Db, accountId: string, { q, scope }: Pick<Finding, 'q' | 'scope'>): Promise<Ways> {
  const of = { accountId, scope, limit: mostOfWay };
  const words = contentWords(q).slice(0, mostWords);
  const all = await findByWords(db, { ...of, words, mode: 'all' });
  const any = all.length < mostOfWay ? await findByWords(db, { ...of, words, mode: 'any' }) : [];
  const named = await findByNames(db, { ...of, names: words.filter((word) => word.length >= shortestName) });
  return [
    ['words', [...all, ...any].map(asPassage)],
    ['name', named.map(asPassage)],
  ];
}

const asPassage = ({ transcript_id, seq }: FoundRow) => ({ transcript_id, seq, to_seq: seq });

/** Passages whose vectors are most like the question's; undefined when no model makes vectors. */
async function byMeaning(context: Context, inference: Inference, q: string, scope: Scope) {
  const { db, actor } = context;
  if (!(await hasVectors(db, actor.accountId))) return undefined;
  try {
    const { vectors, model } = await inference.vectors(context, vectorModel, [q]);
    context.accountItself();
    const vector = vectors[0] as Float32Array;
    const { bits } = quantised(vector);
    const near = await nearestVectors(db, { accountId: actor.accountId, model, bits, scope, limit: mostNear });
    return near
      .map((row) => ({ ...row, rank: likeness(vector, row.bytes) }))
      .sort((a, b) => b.rank - a.rank)
      .slice(0, mostOfWay / 4);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return undefined;
  }
}

/** One list of several by reciprocal ranks. A passage found by meaning counts for the utterance that another way found in it. */
function merged(ways: Readonly<Ways>): Hit[] {
  const hits = new Map<string, Hit>();
  for (const [way, rows] of ways) {
    const seen = new Set<string>();
    for (const { transcript_id: id, seq, to_seq: toSeq } of rows) {
      const known = way === 'meaning' ? inside(hits, id, seq, toSeq) : undefined;
      const key = known ?? `${id} ${seq}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const hit = hits.get(key) ?? { transcript_id: id, seq, to_seq: toSeq, score: 0, matched: [] };
      hit.score += 1 / (fusion + seen.size);
      hit.matched.push(way);
      hits.set(key, hit);
    }
  }
  return [...hits.values()].sort(
    (a, b) => b.score - a.score || (a.transcript_id < b.transcript_id ? -1 : 1) || a.seq - b.seq,
  );
}

function inside(hits: ReadonlyMap<string, Hit>, id: string, from: number, to: number): string | undefined {
  for (let seq = from; seq <= to; seq += 1) if (hits.has(`${id} ${seq}`)) return `${id} ${seq}`;
  return undefined;
}
