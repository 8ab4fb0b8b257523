import type { Manifest } from '../../kernel/feature.ts';
import { pagesCommands } from './pages.commands.ts';

export { UnreadableError } from './pages.pool.ts';
export { isFaultOfServer, type PageRequest, Pages, PageStatusError, type Read } from './pages.reader.ts';
export type { IndexHit, IndexQuery } from './pages.sql.ts';
export type { Found, PageQuestion, Rendered, TextProof, WantedPart } from './pages.work.ts';

/** The feature without a running platform. */
export const pagesManifest: Manifest = {
  name: 'pages',
  data: {
    tables: ['pages.pages'],
  },
  commands: pagesCommands,
};
