import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';

export type Log = Logger;

const secret = /\bsvc_[0-9A-Za-z]{38}\b|(?<=\bBearer )[^\s"\\]+|(?<=:\/\/[^\s:/@"]*:)[^\s@/"]+(?=@)/gi;

/** Removes API keys, bearer tokens and passwords in URLs from any text. */
export function redact(line: string): string {
  return line.replace(secret, '[redacted]');
}

/**
 * JSON log lines on standard error. Every line passes `redact` last, so that no secret gets out whatever field or
 * message it is in.
 */
export function createLog(level: string, destination: NodeJS.WritableStream = process.stderr): Log {
  const redacting = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      destination.write(redact(line));
      done();
    },
  });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting);
}
