import { isUtf8 } from 'node:buffer';
import {
  countOf,
  duplicateName,
  isObject,
  noUsage,
  numberOf,
  objectOf,
  textOf,
  type Usage,
  type Value,
} from '@svc/inference';
import { WebSocket } from 'ws';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest, toApiError } from '../../kernel/base/errors.ts';
import { JsonScanner } from '../../kernel/http/json.ts';
import { closeSocket, keepAlive, watchRights } from '../../kernel/http/sockets.bytes.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { allFailed, type Bill, checkModels, headersFor, type Inference, LaneFailure } from '../inference/index.ts';
import { type Choice, type Most } from '../providers/index.ts';
import { carry, type Message, whenClosed } from './realtime.relay.ts';

/** One message of a client: to read one takes time that all others wait. Sound goes in parts. */
const mostOfClient = 1024 * 1024;
/** One message of a provider. */
const mostBytes = 16 * 1024 * 1024;
const shortMs = 5_000;
const longMs = 60_000;
/** Time for the last words when the gateway stops. */
const drainMs = 3_000;
const drainLookMs = 50;
/** Of events that are read for a guess; those with sound are longer. */
const mostTextEvent = 8_192;

const route = '/realtime';
/** Of one response: all that the model reads, and its longest answer. */
const most = (): Most => ({ input: undefined, output: 8_192, isSound: true });

const openingBrace = 0x7b;
const shuttingDown = 'the gateway shuts down; connect again';

/** The WebSockets of this process. */
export class RealtimeSessions {
  readonly #kernel: Kernel;
  readonly #inference: Inference;
  readonly #open = new Set<Session>();
  #isDraining = false;

  constructor(kernel: Kernel, inference: Inference) {
    this.#kernel = kernel;
    this.#inference = inference;
  }

  /** Connects a client with the first lane that answers, until either leaves. */
  async run(context: Context, { model, intent }: { model: string; intent?: string | undefined }): Promise<void> {
    const choices = this.#inference.choicesFor(context, model).filter(({ lane }) => lane.protocol !== 'messages');
    if (choices.length === 0) throw badRequest(`model: no lane of ${model} speaks this protocol`);
    const giveBack = this.#inference.place(context);
    let session: Session | undefined;
    let upstream: WebSocket | undefined;
    try {
      const bill = await this.#inference.meter.open(context, choices, most);
      context.accountItself();
      session = new Session(this.#kernel, this.#inference, context, bill);
      const found = await this.#connect(context, choices, intent);
      upstream = found.socket;
      if (this.#isDraining) throw new ApiError('unavailable', shuttingDown, { headers: { 'retry-after': '1' } });
      const client = await context.openSocket(mostOfClient);
      if (!client) return;
      this.#open.add(session);
      await session.talk(client, upstream, found.choice);
    } catch (error) {
      // Nobody hears of it, and anybody could fill the log with it.
      if (!context.signal.aborted) throw error;
    } finally {
      upstream?.terminate();
      giveBack();
      if (session) this.#open.delete(session);
      await session?.settle();
    }
  }

  /** Tells every client that the gateway stops, and waits until all are gone. */
  async drain(): Promise<void> {
    const { clock } = this.#kernel;
    this.#isDraining = true;
    for (const session of this.#open) session.end(1001, { code: 'unavailable', message: shuttingDown });
    const until = clock.monotonic() + drainMs;
    while (this.#open.size > 0 && clock.monotonic() < until)
      await new Promise<void>((resolve) => void clock.after(drainLookMs, resolve));
  }

  async #connect(context: Context, choices: readonly Choice[], intent: string | undefined) {
    const failures: LaneFailure[] = [];
    for (const choice of this.#inference.lanes.inOrder(choices, () => route)) {
      try {
        const socket = await open(choice, context, intent);
        this.#inference.lanes.health.answered(choice, route);
        return { choice, socket };
      } catch (error) {
        if (!(error instanceof LaneFailure) || context.signal.aborted) throw error;
        error.lane = choice.lane.id;
        this.#inference.lanes.health.failed(choice, route, error);
        this.#kernel.log.warn({ lane: choice.lane.id, reason: error.message, trace: context.traceId }, 'a lane failed');
        failures.push(error);
      }
    }
    throw allFailed(failures);
  }
}

/** Opens a lane's socket, which is paused. Throws `LaneFailure`. */
async function open(
  { lane, model }: Choice,
  { headers, signal }: Context,
  intent: string | undefined,
): Promise<WebSocket> {
  if (signal.aborted) throw new LaneFailure('the client left', 0);
  const url = lane.wire.urlOf(`${lane.baseUrl.replace(/^http/, 'ws')}/realtime`);
  if (intent === undefined) url.searchParams.set('model', model);
  else url.searchParams.set('intent', intent);
  const { 'content-type': _, ...sent } = await headersFor(lane, true, headers);
  const socket = new WebSocket(url, {
    headers: sent,
    handshakeTimeout: lane.connectMs,
    maxPayload: mostBytes,
    perMessageDeflate: false,
    followRedirects: false,
  });
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  const leave = (): void => socket.terminate();
  signal.addEventListener('abort', leave, { once: true });
  socket.once('open', () => {
    socket.pause();
    resolve(socket);
  });
  socket.once('unexpected-response', (request, response) => {
    const { statusCode: status = 0 } = response;
    const seconds = Number(response.headers['retry-after']);
    request.destroy();
    const isBusy = status === 429 || status === 529;
    reject(
      isBusy
        ? new LaneFailure(`it answered ${status}`, shortMs, {
            isOfLane: true,
            retryAfterSeconds: Number.isFinite(seconds) ? Math.ceil(seconds) : 30,
          })
        : new LaneFailure(`it answered ${status}`, status >= 500 ? shortMs : longMs, { isOfLane: status >= 500 }),
    );
  });
  socket.on('error', (error) => {
    const { code } = error as NodeJS.ErrnoException;
    reject(new LaneFailure(code ?? 'its WebSocket did not open', shortMs, { isOfLane: code !== undefined }));
  });
  return promise.finally(() => signal.removeEventListener('abort', leave));
}

/** One client and one lane. */
class Session {
  readonly #kernel: Kernel;
  readonly #inference: Inference;
  readonly #context: Context;
  #bill: Bill | undefined;
  #choice: Choice | undefined;
  #client: WebSocket | undefined;
  /** Letters of a response that is not done. */
  #letters = 0;
  #billing = Promise.resolve();

  constructor(kernel: Kernel, inference: Inference, context: Context, bill: Bill) {
    this.#kernel = kernel;
    this.#inference = inference;
    this.#context = context;
    this.#bill = bill;
  }

  async talk(client: WebSocket, upstream: WebSocket, choice: Choice): Promise<void> {
    const { clock } = this.#kernel;
    this.#client = client;
    this.#choice = choice;
    const closed = [whenClosed(client), whenClosed(upstream)] as const;
    carry(client, upstream, (message) => this.#fromClient(message));
    carry(upstream, client, (message) => this.#fromUpstream(message));
    upstream.resume();
    const stops = [
      keepAlive(clock, client),
      keepAlive(clock, upstream),
      watchRights(this.#kernel, this.#context.actor, (message) => this.end(1008, { code: 'invalid_api_key', message })),
    ];
    try {
      const [left] = await Promise.race(closed.map(async (one, at) => [at, await one] as const));
      const { code, reason } = await (closed[left] ?? closed[0]);
      closeSocket(clock, left === 0 ? upstream : client, code === 1005 ? 1000 : code, reason);
      await Promise.all(closed);
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Ends it, and sends the client the reason. */
  end(code: number, reason: Pick<ApiError, 'code' | 'message'>): void {
    const client = this.#client;
    if (!client) return;
    const error = { type: 'invalid_request_error', code: reason.code, message: reason.message };
    if (client.readyState === client.OPEN) client.send(JSON.stringify({ type: 'error', error }));
    closeSocket(this.#kernel.clock, client, code, reason.message);
  }

  /** Records what was not recorded yet. */
  async settle(): Promise<void> {
    await this.#billing;
    const bill = this.#bill;
    this.#bill = undefined;
    const guess = this.#letters > 0 ? { guess: { bytes: 0, letters: this.#letters } } : {};
    const status = this.#choice ? 200 : this.#context.signal.aborted ? 499 : 502;
    await bill?.close(this.#choice, undefined, { status, ...guess });
  }

  /** The model is the one that the client connected with, and its key was judged by; others it must be allowed. */
  #fromClient(message: Message): Message | undefined {
    const { bytes } = message;
    // Most of what is said is sound, which names no model: nothing of it is read.
    // UTF-16 has NUL beside each letter of JSON.
    const isText = isUtf8(bytes) && bytes[0] === openingBrace && !bytes.includes(0);
    if (isText && !bytes.includes('model"') && !bytes.includes('\\u')) return message;
    try {
      // Values too deep inside of each other cannot be written again, and take seconds to read.
      new JsonScanner().push(bytes);
      // A provider may read a binary message as it reads text, and what is no JSON here as if it were.
      const event = parsed(bytes);
      if (!event || !isUtf8(bytes)) throw badRequest('a message has to be a JSON object, as UTF-8');
      const twice = duplicateName(bytes);
      if (twice !== undefined) throw badRequest(`${twice.slice(0, 60)}: stands twice`);
      // The judged value goes on, not the bytes: if a name stands twice, the provider may take the other value.
      return { bytes: Buffer.from(JSON.stringify(this.#judged(event))), isBinary: false };
    } catch (error) {
      this.end(1008, toApiError(error));
      return undefined;
    }
  }

  #judged(event: Value): Value {
    const { session: given } = event;
    const session = isObject(given) && given['model'] !== undefined ? { ...given, model: this.#choice?.model } : given;
    const { model: _, ...others } = objectOf(session);
    checkModels(this.#context.actor, { ...event, session: others });
    return { ...event, ...(given !== undefined && { session }) };
  }

  #fromUpstream(message: Message): Message {
    const { bytes, isBinary } = message;
    if (isBinary) return message;
    if (bytes.includes('"response.done"') || bytes.includes('transcription.completed"')) this.#done(bytes);
    else if (bytes.length <= mostTextEvent && bytes.includes('.delta"')) {
      const { type, delta } = parsed(bytes) ?? {};
      if (/(?:text|transcript|arguments)\.delta$/.test(textOf(type) ?? '')) this.#letters += textOf(delta)?.length ?? 0;
    }
    return message;
  }

  #done(bytes: Buffer): void {
    const event = parsed(bytes);
    const isResponse = event?.['type'] === 'response.done';
    const usage = readUsage(isResponse ? objectOf(event['response'])['usage'] : event?.['usage']);
    if (isResponse) this.#letters = 0;
    if (!usage) return;
    this.#billing = this.#billing
      .then(() => this.#record(usage))
      .catch((error: unknown) => {
        if (error instanceof ApiError) return this.end(1008, error);
        this.#kernel.log.warn({ err: error, trace: this.#context.traceId }, 'what a response cost was not recorded');
      });
  }

  /** One response is one request of usage; the next one is reserved anew. */
  async #record(usage: Usage): Promise<void> {
    const { lanes: _, meter } = this.#inference;
    const choice = this.#choice;
    if (!choice) return;
    const bill = this.#bill ?? (await meter.open(this.#context, [choice], most));
    this.#bill = undefined;
    await bill.close(choice, usage, { status: 200 });
    this.#bill = await meter.open(this.#context, [choice], most);
  }
}

function parsed(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Usage as this protocol tells it; undefined for none, and for what is counted in seconds. */
function readUsage(given: unknown): Usage | undefined {
  const usage = objectOf(given);
  if (numberOf(usage['input_tokens']) === undefined) return undefined;
  const ins = objectOf(usage['input_token_details']);
  const outs = objectOf(usage['output_token_details']);
  const cachedAudio = countOf(objectOf(ins['cached_tokens_details'])['audio_tokens']);
  return {
    ...noUsage,
    input: countOf(usage['input_tokens']),
    output: countOf(usage['output_tokens']),
    cached: countOf(ins['cached_tokens']),
    audioInput: Math.max(0, countOf(ins['audio_tokens']) - cachedAudio),
    audioOutput: countOf(outs['audio_tokens']),
  };
}
