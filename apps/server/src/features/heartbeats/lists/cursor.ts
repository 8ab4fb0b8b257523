import { badRequest } from '../../../kernel/base/errors.ts';
import type { MonitorLogRow, SortedCursor, SortedRow } from './lists.sql.ts';

const write = (...parts: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url');

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const faulty = () =>
  badRequest('cursor: must be the next_cursor of a page', { cursor: ['must be the next_cursor of a page'] });

function read(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(parts)) return parts;
  } catch {
    // No text of ours.
  }
  throw faulty();
}

/** An instant as these cursors hold it. */
function isInstant(text: unknown): text is string {
  if (typeof text !== 'string' || !/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)) return false;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text;
}
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export const sortedCursor = (sort: string, at: string, { rank, sort_name, id }: SortedRow): string =>
  write(sort, at, rank, sort_name, id);

/** Throws 400 for a cursor that no list of this order has answered. */
export function readSorted(sort: string, cursor: string): SortedCursor {
  const [own, at, rank, name, id] = read(cursor);
  if (own !== sort || !isInstant(at) || !isCount(rank) || rank > 9) throw faulty();
  if (typeof name !== 'string' || !name.isWellFormed() || name.includes('\u0000')) throw faulty();
  if (typeof id !== 'string' || !uuid.test(id)) throw faulty();
  return { at, rank, name, id };
}

export const logCursor = ({ at, sort, seq }: MonitorLogRow): string => write(at, sort, seq);

/** Throws 400 for a cursor that no log has answered. */
export function readLogCursor(cursor: string): Pick<MonitorLogRow, 'at' | 'sort' | 'seq'> {
  const [at, sort, seq] = read(cursor);
  if (!isInstant(at) || (sort !== 0 && sort !== 1) || !isCount(seq)) throw faulty();
  return { at, sort, seq };
}
