import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { uuid } from '@svc/contract';

/** Names the file in which a run can say more than its exit code does. */
export const reportVariable = 'SVC_RUN_REPORT';

const cost = z.number().nonnegative().max(1_000_000_000_000).transform(Math.round);
const maxLength = 65_536;

/** A run's report on itself. */
interface RunReport {
  cost_micro_usd?: number;
  session_id?: string;
}

/** Where the report of an attempt is. */
export function reportPath(directory: string, id: string, attempt: number): string {
  return join(directory, `${id}.${attempt}.report`);
}

/**
 * The last line of the report that is an object in JSON, so that a run may rewrite the file or add lines to it. What is
 * not a cost in micro-USD, or not a UUID, is left out.
 */
export async function readReport(path: string): Promise<RunReport> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.slice(-maxLength).split('\n');
  const last = lines.map(parseObject).findLast((value) => value !== undefined) ?? parseObject(text) ?? {};
  const given = cost.safeParse(last['cost_micro_usd']);
  const session = uuid.safeParse(last['session_id']);
  return { ...(given.success && { cost_micro_usd: given.data }), ...(session.success && { session_id: session.data }) };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
