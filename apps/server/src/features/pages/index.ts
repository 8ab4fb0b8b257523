import type { AccountData } from '../../kernel/deletion.ts';

export { pagesCommands } from './pages.commands.ts';
export { UnreadableError } from './pages.pool.ts';
export { isFaultOfServer, type PageRequest, Pages, PageStatusError, type Read } from './pages.reader.ts';
export type { IndexHit, IndexQuery } from './pages.sql.ts';
export type { Found, Question, Rendered, TextProof, Wanted } from './pages.work.ts';

/** What it keeps of an account. */
export const pagesData: AccountData = { name: 'pages', tables: ['pages.pages'] };
