import type { Dialect } from './dialect.ts';
import { droppedOf } from './fields.ts';
import type { Conversation } from './model.ts';
import type { Protocol } from './protocol.ts';
import { forMessages } from './system.ts';
import { defined, type Value } from './values.ts';
import { wires } from './wires.ts';

/** A request as a lane takes it. */
export interface Translated {
  body: Value;
  /** Fields of the client's that are not in it. */
  dropped: string[];
}

/** The lane that a request goes to. */
export interface Target {
  protocol: Protocol;
  model: string;
  dialect: Dialect;
  /** Stands in where a client says none and the protocol wants it. */
  maxTokens: number | undefined;
}

type Field = 'temperature' | 'topP' | 'topK' | 'seed' | 'stop' | 'effort' | 'thinkingTokens' | 'choice';

/** The client's names of fields that a lane may not take. */
const names: Readonly<Record<Protocol, Readonly<Record<Field, string>>>> = {
  chat: namesWith({ stop: 'stop', effort: 'reasoning_effort' }),
  messages: namesWith({ stop: 'stop_sequences', effort: 'thinking' }),
  responses: namesWith({ stop: 'stop', effort: 'reasoning' }),
};

function namesWith({ stop, effort }: { stop: string; effort: string }): Readonly<Record<Field, string>> {
  const same = { temperature: 'temperature', topP: 'top_p', topK: 'top_k', seed: 'seed', choice: 'tool_choice' };
  return { ...same, stop, effort, thinkingTokens: effort };
}

/** A request of one protocol for a lane of another. Throws `Untranslatable` for what cannot be left out. */
export function translate(from: Protocol, body: Value, target: Target): Translated {
  const dropped = droppedOf(from, body);
  const written = writeFor(from, wires[from].readRequest(body), target);
  return { body: written.body, dropped: [...dropped, ...written.dropped] };
}

/** A conversation for a lane, without what its model refuses. */
export function writeFor(from: Protocol, conversation: Conversation, target: Target): Translated {
  const { protocol, model, dialect, maxTokens } = target;
  const lost = lostOf(conversation, protocol, dialect);
  const fitted: Conversation = { ...conversation };
  const mayJoin = protocol === 'messages' || (protocol === 'chat' && dialect.systemTurns === false);
  const joins = mayJoin && forMessages(conversation, dialect.systemTurns === true).joined;
  for (const field of lost) Reflect.deleteProperty(fitted, field);
  // Who thinks unasked must be told not to where a tool is forced.
  if (isForced(fitted) && dialect.thinksUnasked) fitted.effort = 'none';
  return {
    body: wires[protocol].writeRequest(fitted, model, { dialect, ...defined({ maxTokens }) }),
    dropped: [...new Set(lost.map((field) => names[from][field])), ...(joins ? [systemName(from)] : [])],
  };
}

/** How a client is told that instructions are not where it put them. */
export const systemName = (from: Protocol): string => (from === 'responses' ? 'input.system' : 'messages.system');

const isForced = ({ choice }: Conversation): boolean => choice === 'required' || typeof choice === 'object';

/** Fields that are set and that the model, or its protocol, does not take. */
function lostOf(conversation: Conversation, to: Protocol, dialect: Dialect): Field[] {
  const { effort } = conversation;
  const isForcing = isForced(conversation) && dialect.forcedTools;
  const wantsThinking = effort !== 'none';
  // A model that reasons takes sampling as long as it does not.
  const thinks = to === 'messages' && dialect.thinking !== 'none' && wantsThinking && !isForcing;
  const isAsked = effort !== undefined || conversation.thinkingTokens !== undefined;
  const sampling = to === 'messages' ? dialect.sampling && !(thinks && isAsked) : dialect.sampling || effort === 'none';
  const refused: Readonly<Record<Field, boolean>> = {
    temperature: !sampling,
    topP: !sampling || (!dialect.bothSamplings && conversation.temperature !== undefined),
    topK: !sampling || !dialect.topK || to === 'responses',
    seed: to !== 'chat',
    stop: !dialect.stop || to === 'responses',
    effort: wantsThinking && (dialect.thinking === 'none' || (isForcing && to === 'messages')),
    thinkingTokens: dialect.thinking === 'none' || (isForcing && to === 'messages'),
    choice: isForced(conversation) && !dialect.forcedTools,
  };
  return (Object.keys(refused) as Field[]).filter((field) => refused[field] && conversation[field] !== undefined);
}
