import { statesOf } from '../../kernel/machine.ts';

export type TranscriptState = 'recording' | 'queued' | 'transcribing' | 'analyzing' | 'ready' | 'failed';

/** The states of a transcript (document 1, States and transitions); `transcripts.moves.ts` has the moves between them. */
export const transcriptStatesTable = statesOf<TranscriptState, 'processing' | 'over'>({
  recording: { means: 'its device records', left: 'its device, by finalize' },
  queued: { means: 'its audio is handed in', left: 'the worker that prepares it', in: ['processing'] },
  transcribing: {
    means: 'windows of it are heard',
    left: 'the step that puts them together; a step that failed for good',
    in: ['processing'],
  },
  analyzing: {
    means: 'its utterances stand, its insights are written',
    left: 'the step that writes them; a step that failed for good',
    in: ['processing'],
  },
  ready: {
    means: 'all is there, or marked as degraded',
    left: 'its owner, by retranscribe or reanalyze',
    in: ['over'],
  },
  failed: {
    means: 'a step failed five times; what was done before can be read',
    left: 'its owner, by retranscribe or reanalyze',
    in: ['over'],
  },
});

export type StepState = 'waiting' | 'running' | 'done' | 'failed';

/** The states of a step; `transcripts.moves.ts` has the moves between them. */
export const stepStates = statesOf<StepState, 'unfinished'>({
  waiting: { means: 'it is due, now or later', left: 'the gateway that takes it', in: ['unfinished'] },
  running: {
    means: 'a gateway has it by lease',
    left: 'that gateway; another one once its lease is over',
    in: ['unfinished'],
  },
  done: { means: 'its result is stored', left: null },
  failed: { means: 'it failed five times, or its input can never do', left: 'its owner, by retranscribe' },
});
