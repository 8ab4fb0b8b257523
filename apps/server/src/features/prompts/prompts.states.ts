import type { Db } from '../../kernel/db/db.ts';
import type { Instant } from '../../kernel/db/instant.ts';
import type { Outcome } from './prompts.runs.sql.ts';
import {
  changePrompt,
  type PromptChange,
  type PromptFilter,
  type PromptRow,
  type PromptState,
  type Report,
} from './prompts.sql.ts';

/** A line of the table. */
export interface PromptMove<G = unknown> {
  /** Empty: the move creates the prompt. */
  from: readonly PromptState[];
  to: PromptState;
  /** In the words of the README: what it asks for besides the state. */
  guard?: { says: string; holds: (prompt: PromptRow, given: G) => boolean };
  /** What changes besides the state, and the words that stand for it in the README. */
  says?: string;
  columns?: (given: G, now: string) => PromptChange;
}

const active = ['open', 'launched', 'sent', 'answered'] as const;
const unclosed = [...active, 'verified'] as const;
const every = [...unclosed, 'done', 'dismissed', 'superseded'] as const;

/** Nothing is done by itself any more. */
const disarmed: PromptChange = { armed_at: null, reminds: false };
/** What an earlier launch or match led to says nothing of this one. */
const unmatched: PromptChange = {
  match_ref: null,
  match_turn_id: null,
  sent_at: null,
  answered_at: null,
  verified_at: null,
  last_turn: null,
};
const row = <G>(given: PromptMove<G>): PromptMove<G> => given;

/** Every move of a prompt (document 1, States and transitions). Nothing else sets its state; README.md shows this table. */
export const promptMoves = {
  create: row<unknown>({ from: [], to: 'open' }),
  snooze: row<{ notBefore: string | null; armedAt: string | null; reminds: boolean; keyId: string }>({
    from: ['open'],
    to: 'open',
    says: 'not before then, reminded once; its key',
    columns: ({ notBefore, armedAt, reminds, keyId }) => ({
      not_before: notBefore,
      armed_at: armedAt,
      reminds,
      key_id: keyId,
    }),
  }),
  supersede: row<{ by: string }>({
    from: ['open'],
    to: 'superseded',
    says: 'superseded by the newer one',
    columns: ({ by }) => ({ superseded_by: by, ...disarmed }),
  }),
  launch: row<{ sessionId: string }>({
    from: unclosed,
    to: 'launched',
    says: 'its session, launched now, no match, turn or answer of before',
    columns: ({ sessionId }, now) => ({ run_session_id: sessionId, launched_at: now, ...unmatched, ...disarmed }),
  }),
  refuse: row<{ outcome: Outcome }>({
    from: ['launched'],
    to: 'launched',
    says: 'last turn',
    columns: ({ outcome }) => ({ last_turn: outcome }),
  }),
  match: row<{ ref: string; turnId: string }>({
    from: active,
    to: 'sent',
    says: 'session and turn, sent now, not answered, no last turn',
    columns: ({ ref, turnId }, now) => ({
      match_ref: ref,
      match_turn_id: turnId,
      sent_at: now,
      answered_at: null,
      last_turn: null,
      ...disarmed,
    }),
  }),
  answer: row<{ ref: string; turnId: string; outcome: Outcome | null }>({
    from: ['sent'],
    to: 'answered',
    guard: {
      says: 'the turn is the one that matched',
      holds: (prompt, { ref, turnId }) => prompt.match_ref === ref && prompt.match_turn_id === turnId,
    },
    says: 'last turn, answered now',
    columns: ({ outcome }, now) => ({ last_turn: outcome, answered_at: now }),
  }),
  verify: row<{ report: Report }>({
    from: every,
    to: 'verified',
    guard: { says: 'the verdict is `done`', holds: (_, { report }) => report.verdict === 'done' },
    says: 'report, verified now',
    columns: ({ report }, now) => ({ report, verified_at: now, ...disarmed }),
  }),
  finish: row<unknown>({ from: unclosed, to: 'done', says: 'nothing is launched', columns: () => disarmed }),
  dismiss: row<unknown>({ from: unclosed, to: 'dismissed', says: 'nothing is launched', columns: () => disarmed }),
};

type Moves = typeof promptMoves;
export type PromptMoveName = Exclude<keyof Moves, 'create'>;
type Given<N extends PromptMoveName> = Moves[N] extends PromptMove<infer G> ? G : never;

/** The state of a prompt that is created. */
export const firstState = promptMoves.create.to;
/** States of which `active` lists (document 1). */
export const activeStates: readonly PromptState[] = active;
/** States that no move of a turn or a person leaves. */
export const isClosed = (state: PromptState): boolean => !(unclosed as readonly PromptState[]).includes(state);

/** Moves a locked prompt; undefined when the table has no such move from where it is. */
export async function movePrompt<N extends PromptMoveName>(
  tx: Db,
  now: Instant,
  prompt: PromptRow,
  name: N,
  given: Given<N>,
): Promise<PromptRow | undefined> {
  const move = promptMoves[name] as PromptMove<Given<N>>;
  if (!move.from.includes(prompt.state)) return undefined;
  if (move.guard && !move.guard.holds(prompt, given)) return undefined;
  return changePrompt(tx, now.iso, prompt.id, { ...move.columns?.(given, now.iso), state: move.to });
}

/** What `status` of a list asks for (document 1, Endpoints). */
export function filterOf(status: PromptState | 'active' | 'due' | 'all'): PromptFilter {
  if (status === 'all') return {};
  if (status === 'active') return { states: activeStates };
  if (status === 'due') return { states: ['open'], due: true };
  return { states: [status] };
}
