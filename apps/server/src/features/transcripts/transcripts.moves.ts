import type { Instant } from '../../kernel/db/instant.ts';
import { columnsOf, type GivenOf, machine, partsOf, type RowMove } from '../../kernel/machine.ts';
import { type StepState, stepStates, type TranscriptState, transcriptStatesTable } from './transcripts.states.ts';
import type { StepChange, StepRow, TranscriptChange, TranscriptRow } from './transcripts.rows.ts';

/** Tries of a step (document 1, Limits). */
export const mostTries = 5;

const t = partsOf<TranscriptState, TranscriptRow, TranscriptChange>();
const cleared = t.effect('no error', () => ({ error: null }));

const transcriptMoves = {
  create: t.to('recording', { from: [] }),
  finalize: t.to<{
    hash: Buffer;
    durationMs: number;
    previewText: string | null;
    keyId: string;
    audioExpiresAt: string;
  }>('queued', {
    from: ['recording'],
    effects: [
      t.effect('body, length, live text, key; the audio goes after 30 days', (_, given, now) => ({
        finalize_hash: given.hash,
        finalized_at: now.iso,
        duration_ms: given.durationMs,
        preview_text: given.previewText,
        key_id: given.keyId,
        audio_expires_at: given.audioExpiresAt,
      })),
    ],
  }),
  begin: t.to('transcribing', { from: ['queued', 'transcribing'] }),
  hear: t.to<{ language: string | null; degraded: readonly string[]; editsLost: number; bytes: number }>('analyzing', {
    from: ['queued', 'transcribing'],
    effects: [
      t.effect('language, what was not done, size, corrections lost', (_, given) => ({
        heard_language: given.language,
        degraded: given.degraded,
        edits_lost: given.editsLost,
        bytes: given.bytes,
      })),
    ],
  }),
  analyze: t.to<{ insights: object; degraded: readonly string[] }>('ready', {
    from: ['analyzing'],
    effects: [
      t.effect('insights, fresh', (_, { insights, degraded }) => ({ insights, insights_stale: false, degraded })),
    ],
  }),
  fail: t.to<{ error: string }>('failed', {
    from: transcriptStatesTable.where('processing'),
    effects: [t.effect('the error', (_, { error }) => ({ error }))],
  }),
  retranscribe: t.to<{ keyId: string }>('queued', {
    from: transcriptStatesTable.where('over'),
    guards: [t.guard('its audio is there', ({ audio_purged_at: purged }) => purged === null)],
    effects: [cleared, t.effect('its key', (_, { keyId }) => ({ key_id: keyId }))],
  }),
  reanalyze: t.to<{ keyId: string }>('analyzing', {
    from: transcriptStatesTable.where('over'),
    effects: [cleared, t.effect('its key', (_, { keyId }) => ({ key_id: keyId }))],
  }),
};

/** Every move of a transcript (document 1, States and transitions). README.md shows this table. */
export const transcriptMachine = machine({
  table: 'transcripts.transcripts',
  states: transcriptStatesTable,
  moves: transcriptMoves,
});

/** The state of a recording that is begun. */
export const firstState = transcriptMoves.create.outcomes[0].to;
/** A move by its name. */
export type TranscriptMove = Exclude<keyof typeof transcriptMoves, 'create'>;
/** What the move needs. */
export type TranscriptGiven<N extends TranscriptMove> = GivenOf<(typeof transcriptMoves)[N]>;

/** The columns that a move changes in a locked transcript; undefined when the table does not allow it. */
export const moveOfTranscript = <N extends TranscriptMove>(
  row: TranscriptRow,
  name: N,
  given: TranscriptGiven<N>,
  now: Instant,
): TranscriptChange | undefined =>
  columnsOf(
    transcriptMoves[name] as RowMove<TranscriptState, TranscriptRow, TranscriptGiven<N>, TranscriptChange>,
    row,
    given,
    now,
  );

const s = partsOf<StepState, StepRow, StepChange>();
const letGo = s.effect('no lease', () => ({ lease_until: null, gateway_id: null }));
const counted = s.effect<{ error: string }, StepRow>('the error, one try more', ({ tries }, { error }) => ({
  last_error: error,
  tries: tries + 1,
}));
const hasTries = s.guard('it failed less than four times before', ({ tries }) => tries < mostTries - 1);

const stepMoves = {
  plan: s.to('waiting', { from: [] }),
  take: s.to<{ gatewayId: string; leaseUntil: string }>('running', {
    from: ['waiting'],
    effects: [
      s.effect<{ gatewayId: string; leaseUntil: string }, StepRow>(
        'gateway, lease, one attempt more',
        ({ attempt }, { gatewayId, leaseUntil }) => ({
          gateway_id: gatewayId,
          lease_until: leaseUntil,
          attempt: attempt + 1,
        }),
      ),
    ],
  }),
  finish: s.to<{ result: Buffer | null; costMicroUsd: number }>('done', {
    from: ['running'],
    effects: [
      s.effect<{ result: Buffer | null; costMicroUsd: number }, StepRow>(
        'its result and its cost, finished now',
        (row, { result, costMicroUsd }, now) => ({
          result,
          cost_micro_usd: row.cost_micro_usd + costMicroUsd,
          finished_at: now.iso,
          last_error: null,
        }),
      ),
      letGo,
    ],
  }),
  retry: s.move<{ error: string; dueAt: string }>({
    from: ['running'],
    outcomes: [
      {
        to: 'waiting',
        when: hasTries,
        effects: [s.effect<{ dueAt: string }>('due later', (_, { dueAt }) => ({ due_at: dueAt }))],
      },
      { to: 'failed', effects: [s.effect('finished now', (_row, _given, now) => ({ finished_at: now.iso }))] },
    ],
    effects: [counted, letGo],
  }),
  refuse: s.to<{ error: string }>('failed', {
    from: ['running'],
    effects: [
      s.effect('its input can never do; the error, finished now', (_, { error }, now) => ({
        last_error: error,
        finished_at: now.iso,
      })),
      letGo,
    ],
  }),
  // Its gateway ends, its account is suspended, or its provider asks for patience: no try is lost.
  handBack: s.to<{ dueAt: string; error: string | null }>('waiting', {
    from: ['running'],
    effects: [s.effect('due later', (_, { dueAt, error }) => ({ due_at: dueAt, last_error: error })), letGo],
  }),
  reset: s.to('waiting', {
    from: ['failed'],
    effects: [
      s.effect('no tries, due now', (_row, _given, now) => ({
        tries: 0,
        due_at: now.iso,
        finished_at: null,
        last_error: null,
      })),
    ],
  }),
};

/** Every move of a step. README.md shows this table. */
export const stepMachine = machine({ table: 'transcripts.steps', states: stepStates, moves: stepMoves });

/** The state of a step that is planned. */
export const plannedState = stepMoves.plan.outcomes[0].to;
/** A move by its name. */
export type StepMove = Exclude<keyof typeof stepMoves, 'plan'>;
/** What the move needs. */
export type StepGiven<N extends StepMove> = GivenOf<(typeof stepMoves)[N]>;

/** The columns that a move changes in a locked step; undefined when the table does not allow it. */
export const moveOfStep = <N extends StepMove>(
  row: StepRow,
  name: N,
  given: StepGiven<N>,
  now: Instant,
): StepChange | undefined =>
  columnsOf(stepMoves[name] as unknown as RowMove<StepState, StepRow, StepGiven<N>, StepChange>, row, given, now);
