import type { environment } from '@svc/contract';
import type { z } from 'zod';
import { jsonFor } from './mcp.answers.ts';
import { printable, printableJson } from '../../kernel/base/text.ts';

/** Fields of an environment that its people choose. */
const chosen = ['name', 'slug', 'stateReason', 'metadata'] as const;
/** Characters of each that a model reads. */
const mostText = 120;

type Listed = z.output<typeof environment>;

/**
 * Environments as a model reads them. Of those that somebody else owns, what people chose stands apart, bounded and with nothing
 * that cannot be printed: an agent reads it beside the words of its own person.
 */
export function environmentsOf(answer: unknown, accountId: string): string {
  const { environments, ...rest } = answer as { environments: Listed[] };
  const marked = environments.map((one) => (one.ownerUserId === accountId ? one : apart(one)));
  return printableJson(
    jsonFor({ environments: marked, ...rest }, 'ask again with a smaller limit and the same cursor'),
  );
}

function apart(one: Listed): object {
  const said = chosen.flatMap((field) => {
    const value = one[field];
    if (value === null) return [];
    return [[field, printable((typeof value === 'string' ? value : JSON.stringify(value)).slice(0, mostText))]];
  });
  const own = Object.entries(one).filter(([field]) => !(chosen as readonly string[]).includes(field));
  return { ...Object.fromEntries(own), said_by_others: Object.fromEntries(said) };
}
