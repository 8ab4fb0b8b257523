/** Windows of a recording, and its transcript from what providers of speech heard in them (design: transcripts). Pure. */
export { assemble } from './assemble.ts';
export { type Cue, cuesOf, withLead } from './cues.ts';
export { isHeaped } from './heaps.ts';
export { languageCode, languageOf } from './language.ts';
export { planRoll } from './roll.plan.ts';
export type {
  Assembled,
  AssembledSpeaker,
  AssembledUtterance,
  AssembledWord,
  Heard,
  HeardWord,
  RollClip,
  Silence,
  TrackHeard,
  VocabularyEntry,
  Window,
} from './types.ts';
export { isQuiet, planWindows } from './windows.ts';
export { estimateWords, segmentsInOrder, spreadWords } from './words.ts';
