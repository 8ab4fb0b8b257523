import { randomUUID } from 'node:crypto';
import type { Db, Sql } from '../../kernel/db/db.ts';
import { randomOf } from '../../testing.random.ts';
import { quantised } from './analysis/vectors.ts';
import { replaceVectors } from './analysis/vectors.sql.ts';
import { replaceNames, replaceUtterances } from './text/text.sql.ts';

/** Words of an utterance. */
const [fewestWords, mostWords] = [4, 24];
const utteranceMs = 7_000;
/** Utterances of a passage that has a vector. */
const passage = 8;
const syllables = 'ba ce di fo gu la me ni po ru sa te vi zo mu ra'.split(' ');
const vocabulary = 8_000;

/** A word by how common it is, 0 the commonest. */
const wordOf = (rank: number): string =>
  [rank & 15, (rank >> 4) & 15, (rank >> 8) & 15, (rank >> 12) & 15].map((part) => syllables[part]).join('');

/** Words as people use them: few of them often. */
export const wordFrom = (random: () => number): string => wordOf(Math.floor(vocabulary * random() ** 3));

/** Recordings of an account as the processing leaves what searches read, with vectors of `dimensions` (0: none). */
export async function fillSearch(
  sql: Sql,
  accountId: string,
  { recordings, each, dimensions, seed }: { recordings: number; each: number; dimensions: number; seed: number },
): Promise<void> {
  const random = randomOf(seed);
  for (let n = 0; n < recordings; n += 1) {
    const row = { id: randomUUID(), account_id: accountId };
    const said = Array.from({ length: each }, (_, seq) => {
      const count = fewestWords + Math.floor(random() * (mostWords - fewestWords));
      const text = Array.from({ length: count }, () => wordFrom(random)).join(' ');
      return { ...bare, seq, start_ms: seq * utteranceMs, end_ms: (seq + 1) * utteranceMs, text };
    });
    const names = Array.from(
      { length: each / 25 },
      () => [`name${wordFrom(random)}`, [Math.floor(random() * each)]] as const,
    );
    const vectors = Array.from({ length: dimensions === 0 ? 0 : Math.ceil(each / passage) }, (_, at) => ({
      seq: at * passage,
      to_seq: Math.min(each, (at + 1) * passage) - 1,
      ...quantised(vectorFrom(random, dimensions)),
    }));
    await sql.begin(async (tx) => {
      await tx`
        insert into transcripts.transcripts (id, account_id, source, title, state, started_at, duration_ms, created_at, updated_at)
        values (${row.id}, ${accountId}, 'test', ${`Meeting ${n}`}, 'ready', now() - make_interval(hours => ${n}),
          ${each * utteranceMs}, now() - make_interval(hours => ${n}), now())`;
      await replaceUtterances(tx, row, said);
      await replaceNames(tx, row, new Map(names));
      await replaceVectors(tx, row, 'vectors-1', vectors);
    });
  }
}

/** An utterance without its text and its times. */
export const bare = {
  speaker: 'S1',
  track: 'mixed',
  heard_speaker: null,
  original_text: null,
  edited_at: null,
  confidence: null,
  language: 'en',
} as const;

/** A vector of any direction. */
export const vectorFrom = (random: () => number, dimensions: number): Float32Array =>
  Float32Array.from({ length: dimensions }, () => random() - 0.5);

/** A step of a plan, as Postgres tells it. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

/** The plans of all statements that `work` asks for, with what they read; each answers no row to it. */
export async function plansOf(sql: Sql, work: (db: Db) => Promise<unknown>): Promise<PlanNode[]> {
  const plans: PlanNode[] = [];
  const explaining = new Proxy(sql, {
    apply(target, _, given: Parameters<Sql>) {
      const query = Reflect.apply(target, undefined, given) as object;
      if (!('then' in query)) return query;
      const explain = async (): Promise<unknown[]> => {
        const [row] = await sql<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>`
          explain (analyze, buffers, format json) ${query as never}`;
        if (row) plans.push(row['QUERY PLAN'][0].Plan);
        return [];
      };
      // A statement alone is awaited; what is part of one is not.
      return new Proxy(query, {
        get: (on, name) => {
          if (name !== 'then') return Reflect.get(on, name) as unknown;
          const explained = explain();
          return explained.then.bind(explained);
        },
      });
    },
  });
  await work(explaining);
  return plans;
}

/** A plan's steps. */
export const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
