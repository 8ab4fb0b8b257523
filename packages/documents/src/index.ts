export type {
  DocumentCue,
  DocumentInsights,
  DocumentSpeaker,
  DocumentUtterance,
  SharedDocument,
  TranscriptDocument,
} from './document.ts';
export { leadOf, toSrt, toVtt } from './cues.ts';
export { contentDisposition } from './disposition.ts';
export { toMarkdown } from './markdown.ts';
export { toText } from './plain.ts';
export { sharePageNotFound, toSharePage } from './share.ts';
export { SHARE_PAGE_POLICY } from './share.style.ts';
