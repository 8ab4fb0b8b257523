/** Whether a snippet stands on its page, and which part of a page answers a question (design: tools, Search). Pure. */
export type { Answer } from './answers.ts';
export { indexPage, type Outline, type PageIndex, type Span } from './page.ts';
export { bestPassage, bm25, type Relevance, relevanceOf } from './passages.ts';
export { sentenceEnds } from './sentences.ts';
export { standsOn, verifySnippet } from './verify.ts';
export { queryWords, rootOf } from './words.ts';
