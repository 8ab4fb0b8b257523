import { type Block, type Conversation, type Message, plainText } from './model.ts';
import { isObject, objectsOf, textOf, type Value } from './values.ts';

/** Whether a message of a client is an instruction, not something that somebody said. */
export const isInstruction = ({ role }: Value): boolean => role === 'system' || role === 'developer';

/** Turns of the same side that follow each other are one. */
export function merged(messages: readonly Message[]): Message[] {
  const all: Message[] = [];
  for (const { role, blocks } of messages) {
    const last = all.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else all.push({ role, blocks: [...blocks] });
  }
  return all;
}

/**
 * Instructions before the first turn as the system prompt, later ones at their place. One that stands between calls and
 * their results goes behind these: no protocol lets them be apart.
 */
export function settled(
  prompt: readonly string[],
  turns: readonly Message[],
): Pick<Conversation, 'system' | 'messages'> {
  const first = turns.findIndex(({ role }) => role !== 'system');
  const leading = turns.slice(0, first === -1 ? turns.length : first).map(({ blocks }) => plainText(blocks));
  const placed: Message[] = [];
  const waiting: Message[] = [];
  const open = new Set<string>();
  for (const turn of turns.slice(leading.length)) {
    if (turn.role === 'system') {
      (open.size > 0 ? waiting : placed).push(turn);
      continue;
    }
    // Who goes on without them answers no calls.
    if (turn.role === 'user' && !turn.blocks.some(({ type }) => type === 'result')) open.clear();
    if (open.size === 0) placed.push(...waiting.splice(0));
    placed.push(turn);
    for (const block of turn.blocks) {
      if (block.type === 'call') open.add(block.id);
      else if (block.type === 'result') open.delete(block.id);
    }
    if (open.size === 0) placed.push(...waiting.splice(0));
  }
  const system = [...prompt, ...leading].filter(Boolean).join('\n\n');
  return { system, messages: merged([...placed, ...waiting]) };
}

/** Text of instructions, which have nothing else. */
export const instructionsIn = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === 'text' && block.text !== '' ? [block.text] : [])).join('\n\n');

/**
 * The conversation for models that take instructions after a turn of the user alone, or (`takes` false) none among
 * turns.
 * `joined`: some had to go to the system prompt.
 */
export function forMessages(
  { system, messages }: Pick<Conversation, 'system' | 'messages'>,
  takes: boolean,
): Pick<Conversation, 'system' | 'messages'> & { joined: boolean } {
  const prompt = [system];
  const placed: Message[] = [];
  let waiting: string[] = [];
  const flush = (): void => {
    const isAfterUser = placed.at(-1)?.role === 'user';
    if (takes && isAfterUser && waiting.length > 0)
      placed.push({ role: 'system', blocks: [{ type: 'text', text: waiting.join('\n\n') }] });
    else prompt.push(...waiting);
    waiting = [];
  };
  for (const { role, blocks } of messages) {
    if (role === 'system') waiting.push(instructionsIn(blocks));
    else {
      // What follows an answer waits for the turn of the user that comes.
      if (role === 'assistant' && placed.at(-1)?.role === 'user') flush();
      placed.push({ role, blocks });
    }
  }
  flush();
  return { system: prompt.filter(Boolean).join('\n\n'), messages: merged(placed), joined: prompt.length > 1 };
}

/** Fields of a client's request of messages without instructions among its turns; none: it has none there. */
export function withoutInstructions(body: Value): { system?: unknown; messages?: unknown[] } {
  const { system, messages } = body;
  if (!Array.isArray(messages) || !objectsOf(messages).some(isInstruction)) return {};
  const blocksOf = (content: unknown): Value[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content);
  const told = objectsOf(messages).filter(isInstruction);
  const joined = [...blocksOf(system), ...told.flatMap(({ content }) => blocksOf(content))];
  return {
    system: joined.filter(({ type, text }) => type === 'text' && (textOf(text) ?? '') !== ''),
    messages: (messages as unknown[]).filter((one) => !isObject(one) || !isInstruction(one)),
  };
}
