export { MediaFiles, type MediaPart, type Recording } from './media.files.ts';
export type { RecordingSource } from './media.clips.ts';
export type { Hearing, MediaLack } from './media.hearing.ts';
export { mediaCommand, type MediaReady } from './media.reader.ts';
export { type MediaFault, MediaRefused } from './media.rules.ts';
export type { Scratch } from './media.scratch.ts';
