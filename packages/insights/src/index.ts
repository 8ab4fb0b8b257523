/** What a recording comes to, and answers from recordings, with every sentence carried by what was said (design: transcripts). Pure. */
export { askQuestion } from './ask.ts';
export { extractAnswer } from './extract.answer.ts';
export { extractInsights } from './extract.ts';
export { namesOf } from './names.ts';
export { partsOf } from './parts.ts';
export { insightsQuestion, mergeQuestion } from './question.ts';
export { readAnswer } from './read.answer.ts';
export { readInsights } from './read.ts';
export type {
  Answered,
  ChatMessage,
  Citation,
  Cited,
  HeardSpeaker,
  HeardUtterance,
  Insights,
  Passage,
  Recording,
} from './types.ts';
export { contentWords } from './words.ts';
