export {
  mediaCommand,
  MediaFiles,
  type MediaPart,
  type MediaReady,
  type Recording,
  type Silences,
} from './media.files.ts';
export { type MediaFault, MediaRefused } from './media.rules.ts';
export type { Scratch } from './media.scratch.ts';
