import {
  type Block,
  type Protocol,
  type Reply,
  type Tool,
  type Value,
  missingSignatures,
  objectOf,
  objectsOf,
  renamedCalls,
  toolNames,
  wires,
  withoutInstructions,
  withoutSealed,
  writeFor,
} from '@svc/inference';
import { ApiError, toApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type AskTurn, type Bill, targetOf, TurnCut, type TurnClosing, type Turned } from '../inference/index.ts';
import type { Choice } from '../providers/index.ts';
import { type Listener, Speech } from './agent.answer.ts';
import { clientTools, lineOf, messagesFor, type AgentTurn, unforced, wantsJson } from './agent.words.ts';
import { isTool, runTool, type ToolName, type ToolParts, type ToolResult } from './agent.tools.ts';
import type { Workbench } from './agent.workbench.ts';

/** How far one answer may go (design: inference, Tool loop). */
interface Limits {
  seconds: number;
  costMicroUsd: number;
}

/** The parts of one answer. */
interface Talk {
  kernel: Kernel;
  protocol: Protocol;
  /** The client's request without what was for us. */
  body: Value;
  bodyBytes: number;
  tools: readonly ToolName[];
  definitions: readonly Tool[];
  bench: Workbench;
  listener: Listener;
  limits: Limits;
  signal: AbortSignal;
  /** Whether files under /workspace/out are handed to the caller. */
  handsOut: boolean;
  tellOwner?: ToolParts['tellOwner'];
  recordings?: ToolParts['recordings'];
  /** Hears of each tool: its input, then what it said. */
  onTool?: (name: string, text: string) => void;
}

const mostRounds = 25;
const mostCallsOfRound = 16;
/** Most bytes that a protocol writes around a tool. */
const wrapBytes = 100;
/** Characters of what tools said in one answer. */
const mostResults = 4 * 1024 * 1024;

/** Turn after turn: the model speaks, its tools run, it hears what they said, until it calls none of ours. */
export class Conversation {
  readonly #talk: Talk;
  readonly #speech: Speech;
  readonly #said: AgentTurn[] = [];
  /** A tool that neither has is ours too: its caller is the model, which must hear of it. */
  readonly #isOurs: (tool: string) => boolean;
  readonly #beganAt: number;
  /** Approximate bytes that our tools add to each turn. */
  readonly #ownBytes: number;
  #resultLetters = 0;
  #saidBytes = 0;
  /** A tool ran: the same request must not be sent again by itself. */
  #hasRun = false;

  constructor(talk: Talk) {
    this.#talk = talk;
    const theirs = clientTools(talk.body);
    this.#isOurs = (name) => !theirs.has(name);
    this.#speech = new Speech(talk.protocol, this.#isOurs);
    this.#beganAt = talk.kernel.clock.monotonic();
    this.#ownBytes = Buffer.byteLength(JSON.stringify(talk.definitions)) + talk.definitions.length * wrapBytes;
  }

  async run(ask: AskTurn, bill: () => Bill | undefined): Promise<TurnClosing> {
    try {
      const finish = await this.#rounds(ask, bill);
      await this.#conclude(finish, bill());
      const { listener } = this.#talk;
      listener.finish(bill()?.cost ?? 0);
      return { status: 200, sent: listener.bytes, send: () => listener.end() };
    } catch (error) {
      // Awaited here: what it throws while the sandbox is removed would have no handler, and end the process.
      return await this.#failed(error);
    } finally {
      await this.#close();
    }
  }

  async #rounds(ask: AskTurn, bill: () => Bill | undefined): Promise<Pick<Reply, 'finish' | 'stopSequence'>> {
    for (let round = 1; ; round++) {
      const turn = await this.#turn(ask, round);
      if (!turn) return { finish: 'length' };
      const { reply } = turn;
      const calls = reply.blocks.filter((block) => block.type === 'call');
      const isOurs = calls.length > 0 && calls.every(({ name }) => this.#isOurs(name));
      const { finish } = reply;
      // With calls of the client's tools among them the turn is the client's; the model makes the others again.
      if (!isOurs || finish === 'length' || finish === 'refusal') return reply;
      if (round === mostRounds || this.#isOver(bill())) return { finish: 'length' };
      await this.#runAll(turn, calls);
    }
  }

  /** Undefined: a limit of the caller ended what had begun. */
  async #turn(ask: AskTurn, round: number): Promise<Turned | undefined> {
    const { protocol, listener, bodyBytes, body, definitions } = this.#talk;
    this.#speech.turn();
    try {
      return await ask({
        protocol,
        bytes: bodyBytes + this.#ownBytes + this.#saidBytes,
        isLive: listener.isLive,
        tools: [...toolNames(body), ...definitions.map(({ name }) => name)],
        bodyFor: (choice) => this.#bodyFor(choice, round),
        hear: (events, lane) => listener.say(this.#speech.heard(events), lane.id),
      });
    } catch (error) {
      if (round > 1 && error instanceof ApiError && error.code === 'quota_exceeded') return undefined;
      throw error;
    }
  }

  /** The client's own request for a lane of its protocol, with our tools and what was said since; else translated. */
  #bodyFor(choice: Choice, round: number): string {
    const { lane, model } = choice;
    const { protocol, definitions } = this.#talk;
    const { tool_choice: forced, ...rest } = this.#talk.body;
    const open = round === 1 ? forced : unforced(forced);
    const body: Value = { ...rest, ...(open !== undefined && { tool_choice: open }), stream: true };
    const said = this.#said.flatMap((turn) => messagesFor(turn, lane));
    if (lane.protocol !== protocol) {
      const conversation = wires[protocol].readRequest(body);
      const messages = [...conversation.messages, ...said];
      const tools = [...conversation.tools, ...definitions];
      const request = { ...conversation, messages, tools, sendsThinking: true };
      return JSON.stringify(writeFor(protocol, request, targetOf(choice)).body);
    }
    const ours = { system: '', messages: said, tools: [...definitions], stream: true, sendsThinking: true };
    const dialect = lane.dialectOf(model);
    const { tools, messages } = wires[protocol].writeRequest(ours, model, { dialect });
    const told = protocol === 'messages' && dialect.systemTurns === false ? withoutInstructions(body) : {};
    const mended = { ...told, ...(protocol === 'messages' && withoutSealed('messages', { ...body, ...told })) };
    const renamed = renamedCalls(protocol, { ...body, ...mended });
    const { messages: named } = { ...body, ...mended, ...renamed };
    const signed = dialect.signatures === undefined ? {} : missingSignatures(named);
    const { messages: given } = { messages: named, ...signed };
    return JSON.stringify({
      ...body,
      ...mended,
      model,
      ...(protocol === 'chat' && { stream_options: { ...objectOf(body['stream_options']), include_usage: true } }),
      tools: [...objectsOf(body['tools']), ...objectsOf(tools)],
      messages: [...objectsOf(given), ...objectsOf(messages)],
    });
  }

  async #runAll({ reply, lane }: Turned, calls: readonly Extract<Block, { type: 'call' }>[]): Promise<void> {
    const { signal, listener, onTool } = this.#talk;
    const results: Block[] = [];
    const stopWaiting = listener.wait();
    try {
      for (const [at, { id, name, input }] of calls.entries()) {
        signal.throwIfAborted();
        onTool?.(name, input);
        const { text, isError } = await this.#runOne(at, name, input);
        onTool?.(name, text);
        this.#resultLetters += text.length;
        results.push({ type: 'result', id, content: [{ type: 'text', text }], ...(isError && { isError }) });
      }
    } finally {
      stopWaiting();
    }
    signal.throwIfAborted();
    this.#said.push({ lane, blocks: reply.blocks, results });
    this.#saidBytes += Buffer.byteLength(JSON.stringify([reply.blocks, results]));
  }

  async #runOne(at: number, name: string, input: string): Promise<ToolResult> {
    const { kernel, tools, bench, tellOwner, recordings } = this.#talk;
    if (at >= mostCallsOfRound)
      return { text: `not run: ${mostCallsOfRound} calls at once are the most`, isError: true };
    if (!isTool(tools, name))
      return { text: `there is no tool ${name.slice(0, 120)}; there are ${tools.join(', ')}`, isError: true };
    this.#hasRun = true;
    const parts = { bench, tellOwner, recordings, secondsLeft: () => Math.max(1, Math.ceil(this.#secondsLeft)) };
    return runTool(parts, kernel.log, { name, input });
  }

  get #secondsLeft(): number {
    const passed = (this.#talk.kernel.clock.monotonic() - this.#beganAt) / 1000;
    return this.#talk.limits.seconds - passed;
  }

  #isOver(bill: Bill | undefined): boolean {
    const { costMicroUsd } = this.#talk.limits;
    return this.#secondsLeft <= 0 || (bill?.cost ?? 0) >= costMicroUsd || this.#resultLetters > mostResults;
  }

  /** The files that were made, the usage of all turns, and how it ended. */
  async #conclude({ finish, stopSequence }: Pick<Reply, 'finish' | 'stopSequence'>, bill: Bill | undefined) {
    const { bench, listener, handsOut, body } = this.#talk;
    const artifacts = handsOut ? await this.#artifacts() : [];
    // Before the last word: who asks again at once has the place.
    await this.#close();
    // Text that must be JSON stays it; the files are told of beside it.
    const isListed = artifacts.length > 0 && !wantsJson(body);
    const events = isListed ? this.#speech.ours(artifacts.map(lineOf).join('\n')) : [];
    const extra = bench.isUsed && { extra: { svc_sandbox: { sandbox_id: bench.id, artifacts } } };
    await listener.say([
      ...events,
      ...(bill ? [{ type: 'usage' as const, usage: bill.usage }] : []),
      { type: 'finish', finish, ...(stopSequence !== undefined && { stopSequence }), ...extra },
      { type: 'end' },
    ]);
  }

  /** The answer is not lost when its files cannot be collected. */
  async #artifacts() {
    const { bench, kernel, onTool } = this.#talk;
    try {
      return await bench.artifacts();
    } catch (err) {
      if (!(err instanceof ApiError)) kernel.log.warn({ err }, 'artifacts of an answer were not collected');
      onTool?.('artifacts', 'could not be collected');
      return [];
    }
  }

  async #failed(error: unknown): Promise<TurnClosing> {
    const { kernel, listener, signal } = this.#talk;
    if (signal.aborted) return { status: 499, sent: listener.bytes };
    const isCut = error instanceof TurnCut;
    const isKnown = isCut || error instanceof ApiError;
    if (await listener.fail()) {
      if (!isKnown) kernel.log.error({ err: error }, 'an answer of turns failed');
      return { status: isKnown ? 200 : 500, sent: listener.bytes };
    }
    const failure = isCut ? new ApiError('upstream_error', 'the answer was cut: the upstream failed') : error;
    if (!this.#hasRun) throw failure;
    if (!isKnown) kernel.log.error({ err: error }, 'an answer of turns failed');
    const { code, message, headers, details } = toApiError(failure);
    throw new ApiError(code, message, {
      headers: { ...headers, 'x-should-retry': 'false' },
      ...(details && { details }),
    });
  }

  async #close(): Promise<void> {
    const { bench, kernel } = this.#talk;
    await bench.close().catch((err: unknown) => kernel.log.warn({ err }, 'a sandbox of an answer is removed later'));
  }
}
