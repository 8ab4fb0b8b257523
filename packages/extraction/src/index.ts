export { type Block, ExtractionError, type Page, type PageFormat, type PageKind, type Run } from './blocks.ts';
export { readPage } from './read.ts';
export { type Rendered, renderPage } from './render/render.ts';
