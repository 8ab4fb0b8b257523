import { contract, type RouteResult } from '@svc/contract';
import { type Feature, type Operation, operation } from '../../kernel/feature.ts';
import { partsOf } from './overview.parts.ts';

type Results = RouteResult<typeof contract.overview.find>['results'];

export const find = (features: () => readonly Feature[]): Operation =>
  operation(contract.overview.find, async ({ actor, db }, { query }) => {
    const escaped = query.q.trim().replace(/[\\%_]/g, String.raw`\$&`);
    const wanted = { pattern: `%${escaped}%`, prefix: `${escaped}%`, most: query.limit };
    const found = await Promise.all(
      partsOf(features(), actor).map(async (part) => (await part.find?.(db, actor.accountId, wanted)) ?? []),
    );
    const results = (found.flat() as Results).filter(({ kind }) => query.kinds?.includes(kind) ?? true);
    const begin = query.q.trim().toLowerCase();
    const rank = ({ title }: { title: string }): number => (title.toLowerCase().startsWith(begin) ? 0 : 1);
    return { results: results.sort((one, other) => rank(one) - rank(other)).slice(0, query.limit) };
  });
