/** Whether a snippet stands on its page, and which part of a page answers a question (design: tools, Search). Pure. */
export { indexPage, type PageIndex, type Span } from './page.ts';
export { bestPassage, bm25, type Passage, type Relevance, relevanceOf } from './passages.ts';
export { standsOn, type Verified, verifySnippet } from './verify.ts';
export { queryWords, rootOf } from './words.ts';
