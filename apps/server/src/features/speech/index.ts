export type { SpeechWindow } from './kinds/kind.ts';
export { addSpeech, checkSpeech, isSpeechKind, listSpeech, removeSpeech, type NewSpeech } from './speech.commands.ts';
export { NoProvider, SpeechFailed } from './speech.errors.ts';
export { hearQuiet } from './speech.quiet.ts';
export { checkSpeechFile, type SpeechHeard, SpeechProviders } from './speech.providers.ts';
