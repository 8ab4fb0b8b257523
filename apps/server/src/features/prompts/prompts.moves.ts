import type { Db } from '../../kernel/db/db.ts';
import type { Instant } from '../../kernel/db/instant.ts';
import { columnsOf, type GivenOf, machine, partsOf, type RowMove } from '../../kernel/machine.ts';
import {
  changePrompt,
  type MatchedTurn,
  type Outcome,
  type PromptChange,
  type PromptRow,
  type Report,
} from './prompts.sql.ts';
import { type PromptState, promptStates } from './prompts.states.ts';

const { effect, guard, to } = partsOf<PromptState, PromptRow, PromptChange>();
const active = promptStates.where('active');
const unclosed = promptStates.where('unclosed');

const disarmed = effect('nothing is launched or told by itself', () => ({ armed_at: null, reminds: false }));
/** The results of an earlier launch or match do not count for this one. */
const unmatched = effect('no match, turn or answer of before', () => ({
  match_ref: null,
  match_turn_id: null,
  sent_at: null,
  answered_at: null,
  verified_at: null,
  last_turn: null,
}));

const moves = {
  create: to('open', { from: [] }),
  snooze: to<{ notBefore: string | null; armedAt: string | null; reminds: boolean; keyId: string }>('open', {
    from: ['open'],
    effects: [
      effect('not before then, reminded once; its key', (_, { notBefore, armedAt, reminds, keyId }) => ({
        not_before: notBefore,
        armed_at: armedAt,
        reminds,
        key_id: keyId,
      })),
    ],
  }),
  supersede: to<{ by: string }>('superseded', {
    from: ['open'],
    effects: [effect('superseded by the newer one', (_, { by }) => ({ superseded_by: by })), disarmed],
  }),
  launch: to<{ sessionId: string }>('launched', {
    from: unclosed,
    effects: [
      effect('its session, launched now', (_, { sessionId }, now) => ({
        run_session_id: sessionId,
        launched_at: now.iso,
      })),
      unmatched,
      disarmed,
    ],
  }),
  refuse: to<{ outcome: Outcome }>('launched', {
    from: ['launched'],
    effects: [effect('last turn', (_, { outcome }) => ({ last_turn: outcome }))],
  }),
  match: to<MatchedTurn>('sent', {
    from: active,
    effects: [
      effect('session and turn, sent now, not answered, no last turn', (_, { ref, turnId }, now) => ({
        match_ref: ref,
        match_turn_id: turnId,
        sent_at: now.iso,
        answered_at: null,
        last_turn: null,
      })),
      disarmed,
    ],
  }),
  answer: to<MatchedTurn & { outcome: Outcome | null }>('answered', {
    from: ['sent'],
    guards: [
      guard(
        'the turn is the one that matched',
        (prompt, { ref, turnId }) => prompt.match_ref === ref && prompt.match_turn_id === turnId,
      ),
    ],
    effects: [
      effect('last turn, answered now', (_, { outcome }, now) => ({ last_turn: outcome, answered_at: now.iso })),
    ],
  }),
  verify: to<{ report: Report }>('verified', {
    from: promptStates.names,
    guards: [guard('the verdict is `done`', (_, { report }) => report.verdict === 'done')],
    effects: [effect('report, verified now', (_, { report }, now) => ({ report, verified_at: now.iso })), disarmed],
  }),
  finish: to('done', { from: unclosed, effects: [disarmed] }),
  dismiss: to('dismissed', { from: unclosed, effects: [disarmed] }),
};

/** Every move of a prompt (document 1, States and transitions). Nothing else sets its state; README.md shows this table. */
export const prompts = machine({ table: 'prompts.prompts', states: promptStates, moves });

type Moves = typeof moves;
export type PromptMoveName = Exclude<keyof Moves, 'create'>;
type Given<N extends PromptMoveName> = GivenOf<Moves[N]>;

/** The state of a prompt that is created. */
export const firstState = moves.create.outcomes[0].to;
/** Whether a turn or a person no longer moves a prompt in this state. */
export const isClosed = (state: PromptState): boolean => !unclosed.includes(state);

/** Moves a locked prompt; undefined when the table has no such move from where it is. */
export async function movePrompt<N extends PromptMoveName>(
  tx: Db,
  now: Instant,
  prompt: PromptRow,
  name: N,
  given: Given<N>,
): Promise<PromptRow | undefined> {
  const line = moves[name] as RowMove<PromptState, PromptRow, Given<N>, PromptChange>;
  const change = columnsOf(line, prompt, given, now);
  return change && changePrompt(tx, now.iso, prompt.id, change);
}
