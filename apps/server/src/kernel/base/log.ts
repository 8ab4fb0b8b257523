import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { redact } from './redact.ts';
import { printableLines } from './text.ts';

export type Log = Logger;

/** The same failure again within this time is counted, not written: a database that is away fails eight times a second. */
const repeatMs = 60_000;
const mostRemembered = 1_000;
const brokenConnection =
  /^(?:ECONN(?:REFUSED|RESET)|ENOENT|EPIPE|CONNECTION_(?:CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|57P0[123])$/;

/**
 * Log lines on standard error: JSON, or text for people where that is a terminal. Every line passes `redact` last, so that no secret gets out whatever field or
 * message it is in.
 */
export function createLog(
  level: string,
  destination: NodeJS.WritableStream = process.stderr,
  clock: Pick<Clock, 'monotonic'> = systemClock,
): Log {
  const isTerminal = 'isTTY' in destination && destination.isTTY === true;
  const redacting = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      // Text from outside must not move the cursor of a terminal.
      destination.write(isTerminal ? printableLines(redact(line)) : redact(line));
      done();
    },
  });
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: serializeError },
    hooks: { logMethod: isTerminal ? withShortErrors(withoutRepeats(clock)) : withoutRepeats(clock) },
  };
  return pino(options, isTerminal ? forPeople(redacting) : redacting);
}

/** Lines for a terminal: the time of day, the level, the message, and what belongs to it below. Loaded there alone. */
const forPeople = (destination: Writable) =>
  (createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty'))({
    destination,
    colorize: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
  });

/** Where a connection broke is the same every time; the message says which. */
function serializeError(error: Error | string): unknown {
  if (typeof error === 'string') return error;
  const { code, message } = error as { code?: unknown; message: string };
  if (typeof code === 'string' && brokenConnection.test(code)) return { type: error.name, code, message };
  return pino.stdSerializers.err(error);
}

/** Writes what is no error of this program with the message alone: a stack is for who mends it, not for who runs it. */
function withShortErrors(write: LogMethod): LogMethod {
  return function (args, method, level) {
    const short = function (this: Logger, ...[fields, ...rest]: unknown[]): void {
      const err = fields instanceof Error ? fields : (fields as Failure | undefined)?.err;
      const given = fields instanceof Error ? {} : fields;
      const shown = err instanceof Error ? [{ ...(given as object), err: err.message }, ...rest] : [fields, ...rest];
      method.apply(this, shown as never);
    };
    return write.call(this, args, level < errorLevel ? short : method, level);
  };
}

/** Writes a failure of background work once a minute, with how often it came since. Failures of requests all stand. */
function withoutRepeats(clock: Pick<Clock, 'monotonic'>): LogMethod {
  const seen = new Map<string, { at: number; repeats: number }>();
  return function (args, method) {
    const [fields, text] = args as unknown as [unknown, unknown];
    const { err, trace, loop = '' } = (typeof fields === 'object' && fields !== null ? fields : {}) as Failure;
    if (!(err instanceof Error) || trace !== undefined) return method.apply(this, args);
    const key = `${String(text)} ${loop} ${err.message}`;
    const known = seen.get(key);
    const now = clock.monotonic();
    if (known && now - known.at < repeatMs) {
      known.repeats += 1;
      return undefined;
    }
    if (seen.size >= mostRemembered) seen.clear();
    seen.set(key, { at: now, repeats: 0 });
    const more = known && known.repeats > 0 ? [{ ...(fields as object), repeats: known.repeats }] : [fields];
    return method.apply(this, [...more, ...args.slice(1)] as never);
  };
}

/** The number of pino's level `error`. */
const errorLevel = 50;

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

interface Failure {
  err?: unknown;
  trace?: unknown;
  loop?: string;
}
