import { badRequest } from '../../../kernel/base/errors.ts';

/** Results that a search leads to, page by page. */
const mostResults = 400;

/** Where a page begins: results have ranks, not keys. Throws 400 for what is no cursor of a page. */
export function pageFrom(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const [, rank] = /^r(\d{1,4})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const at = Number(rank);
  if (rank === undefined || at > mostResults) {
    throw badRequest('cursor: must be the next_cursor of a page', { cursor: ['must be the next_cursor of a page'] });
  }
  return at;
}

/** The cursor of the page that begins with a rank; nothing where none does. */
export const nextPage = (from: number, found: number): { next_cursor?: string } =>
  from < Math.min(found, mostResults) ? { next_cursor: Buffer.from(`r${from}`).toString('base64url') } : {};
