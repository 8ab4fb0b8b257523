/** Messages of Postgres's protocol, version 3, as they are cut out of a stream of bytes. */

/** One message: its type (`''` for the first ones of a connection, which have none) and all of its bytes. */
export interface Message {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Cuts a stream into messages. The first messages of a client have no type; a server's all have one. */
export class Cutter {
  #rest: Buffer = Buffer.alloc(0);
  #isStarted: boolean;

  constructor(side: 'client' | 'server') {
    this.#isStarted = side === 'server';
  }

  /** The messages that are whole with these bytes. */
  push(bytes: Buffer): Message[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const messages: Message[] = [];
    for (;;) {
      const head = this.#isStarted ? 1 : 0;
      if (this.#rest.length < head + 4) break;
      const end = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < end) break;
      const whole = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      messages.push({ type: head === 0 ? '' : String.fromCharCode(whole[0] ?? 0), bytes: whole });
      this.#isStarted ||= isStartup(whole);
    }
    return messages;
  }
}

const protocolVersion = 196_608;
/** Whether a message without a type opens a session; another one asks to cancel. */
const isStartup = (bytes: Buffer): boolean => bytes.readInt32BE(4) === protocolVersion;

/** The text from `at` to its closing NUL. */
function textAt(bytes: Buffer, at: number): { text: string; end: number } {
  const end = bytes.indexOf(0, at);
  return { text: bytes.toString('utf8', at, end), end: end + 1 };
}

/** `application_name` of a start-up message. */
export function applicationOf({ bytes }: Message): string {
  let at = isStartup(bytes) ? 8 : bytes.length;
  while (at < bytes.length - 1) {
    const name = textAt(bytes, at);
    const value = textAt(bytes, name.end);
    if (name.text === 'application_name') return value.text.trim();
    at = value.end;
  }
  return '';
}

/** Name and SQL of a Parse message. */
export function parsed({ bytes }: Message): { name: string; sql: string } {
  const name = textAt(bytes, 5);
  return { name: name.text, sql: textAt(bytes, name.end).text };
}

/** The prepared statement that a Bind message names. */
export const boundOf = ({ bytes }: Message): string => textAt(bytes, textAt(bytes, 5).end).text;

/** The SQL of a simple query. */
export const queryOf = ({ bytes }: Message): string => textAt(bytes, 5).text;
