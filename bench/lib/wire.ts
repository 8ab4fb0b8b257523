import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** What was asked of a database. */
export interface Asked {
  /** Their texts, in order, but for `begin`, `commit` and `rollback`. */
  statements: string[];
  transactions: number;
  /** Messages that the bus brought to a gateway: with one gateway, those that were sent. */
  messages: number;
}

/** A socket in front of that of a database: everything that passes is counted, by the protocol of Postgres. */
export interface Wire extends AsyncDisposable {
  socketDir: string;
  /** Forgets what was counted. */
  clear(): void;
  asked(): Asked;
  /**
   * Resolves when nothing was waited for or passed for so long, from now on: in turns of this process, which on a busy
   * machine come late, as all that the gateway in it does next.
   */
  quiet(ms: number): Promise<void>;
}

/** How often it is looked whether something passes. */
const turnMs = 5;

/** Opens the socket, in a folder of its own. */
export async function openWire(to: { socketDir: string; port: number }): Promise<Wire> {
  const socketDir = mkdtempSync(join(tmpdir(), 'svc-wire-'));
  chmodSync(socketDir, 0o755);
  const name = `.s.PGSQL.${to.port}`;
  let counted: Asked = { statements: [], transactions: 0, messages: 0 };
  let hasPassed = false;
  const open = new Set<Socket>();
  const waiting = new Map<Socket, number>();
  const server = createServer((client) => {
    const database = connect(join(to.socketDir, name));
    // For the answer to its start.
    waiting.set(client, 1);
    const { asks, answers } = counter(
      () => counted,
      (more) => void waiting.set(client, (waiting.get(client) ?? 0) + more),
    );
    for (const [from, into, read] of [
      [client, database, asks],
      [database, client, answers],
    ] as const) {
      open.add(from);
      from.on('data', (bytes: Buffer) => {
        hasPassed = true;
        read(bytes);
        into.write(bytes);
      });
      from
        .on('error', () => into.destroy())
        .on('close', () => {
          open.delete(from);
          waiting.delete(from);
          into.destroy();
        });
      from.on('end', () => into.end());
    }
  });
  await once(server.listen(join(socketDir, name)), 'listening');
  return {
    socketDir,
    clear: () => void (counted = { statements: [], transactions: 0, messages: 0 }),
    asked: () => counted,
    async quiet(ms) {
      for (let turns = 0; turns * turnMs < ms; turns += 1) {
        hasPassed = false;
        await delay(turnMs);
        if (hasPassed || [...waiting.values()].some((questions) => questions > 0)) turns = -1;
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
      rmSync(socketDir, { recursive: true, force: true });
    },
  };
}

/** Reads both ways of one connection, counts, and says how many answers more are waited for. */
function counter(
  counted: () => Asked,
  wait: (more: number) => void,
): { asks: (bytes: Buffer) => void; answers: (bytes: Buffer) => void } {
  const texts = new Map<string, string>();
  let bound = '';
  const count = (text: string): void => {
    if (/^(?:begin|commit|rollback)\b/i.test(text)) {
      counted().transactions += /^begin/i.test(text) ? 0 : 1;
    } else if (text !== 'select 1') {
      // By that a connection of the bus learns, on the real clock, whether it still hears.
      counted().statements.push(text.replace(/\s+/g, ' ').trim());
    }
  };
  return {
    asks: reader(true, (type, body) => {
      const [first = '', second = ''] = body.toString('utf8').split('\0');
      if (type === 'Q' || type === 'S') wait(1);
      if (type === 'Q') count(first);
      if (type === 'P') texts.set(first, second);
      if (type === 'B') bound = texts.get(second) ?? '';
      if (type === 'E') count(bound);
    }),
    answers: reader(false, (type) => {
      if (type === 'A') counted().messages += 1;
      if (type === 'Z') wait(-1);
    }),
  };
}

/** Cuts a stream into messages: a type, a length that counts itself, a body. The first one of a client has no type. */
function reader(hasStart: boolean, take: (type: string, body: Buffer) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let isStart = hasStart;
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (;;) {
      const head = isStart ? 0 : 1;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      if (!isStart) take(String.fromCharCode(rest[0] as number), rest.subarray(5, end));
      isStart = false;
      rest = rest.subarray(end);
    }
  };
}
