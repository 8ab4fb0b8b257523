import { badRequest } from '../base/errors.ts';
import type { Db, Fragment } from './db.ts';
import { statement } from './statement.ts';

/** Which page of a list is asked for: `page` of the contract. */
export interface PageQuery {
  limit: number;
  cursor?: string | undefined;
}

/** A row of a list that has pages; `page_at` is the instant that the list is ordered by, to the microsecond. */
export interface PagedRow {
  id: string;
  page_at: string;
}

const cursorText = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Whether the calendar has this instant, as Postgres writes it: `Date.parse` takes the 30th of February for a day of March. */
function isInstant(text: string): boolean {
  const ms = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 19)}Z`);
  return !Number.isNaN(ms) && ms > 0 && new Date(ms).toISOString().startsWith(text.slice(0, 10));
}

/**
 * The end of a list's query: rows after the cursor's, newest first, one more than asked for. Lists are ordered by an
 * instant and then by `id`. Throws 400 for a cursor that no list has answered.
 */
export function pageEnd(db: Db, page: PageQuery, { at, id }: { at: Fragment; id: Fragment }): Fragment {
  const end = db`order by ${at} desc, ${id} desc limit ${page.limit + 1}`;
  if (page.cursor === undefined) return end;
  const [lastAt, lastId] = placeOf(page.cursor);
  // As text: the driver would cut it to milliseconds.
  return db`and (${at}, ${id}) < (${lastAt}::text::timestamptz, ${lastId}::uuid) ${end}`;
}

/**
 * A list's query with its two texts, with a cursor and without, made once. `text` ends in its conditions, of which `$1` is
 * the only value; order and cursor are those of `pageEnd`.
 */
export function pagedStatement<R extends object>(
  text: string,
  { at, id }: { at: string; id: string },
): (db: Db, value: string, page: PageQuery) => Promise<R[]> {
  const end = `order by ${at} desc, ${id} desc limit $2`;
  const first = statement<R>(`${text} ${end}`);
  const later = statement<R>(`${text} and (${at}, ${id}) < ($3::text::timestamptz, $4::uuid) ${end}`);
  return (db, value, { limit, cursor }) =>
    cursor === undefined ? first(db, value, limit + 1) : later(db, value, limit + 1, ...placeOf(cursor));
}

/** The last row that a client has seen. Throws 400 for a cursor that no list has answered. */
function placeOf(cursor: string): [at: string, id: string] {
  const [, at, id] = cursorText.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (at === undefined || id === undefined || !isInstant(at)) {
    throw badRequest('cursor: must be the next_cursor of a page', { cursor: ['must be the next_cursor of a page'] });
  }
  return [at, id];
}

/** The rows of a page, and where the next one begins when there is one: when there are more rows, or `more` says so. */
export function pageOf<R extends PagedRow>(
  rows: readonly R[],
  limit: number,
  more = rows.length > limit,
): { rows: R[]; next: { next_cursor?: string } } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (!more || !last) return { rows: page, next: {} };
  return { rows: page, next: { next_cursor: Buffer.from(`${last.page_at} ${last.id}`).toString('base64url') } };
}
