import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { helperSocket } from '../config.handed.ts';
import type { Supervised } from '../sandboxd.supervise.ts';
import type { Request } from './helper.ts';

/** It starts while this process does. */
const startsWithinMs = 20_000;
const againMs = 20;

/** The platform's side of the process that stays root. */
interface Helper {
  /** Has the node agent run until it is stopped. */
  startNode(): Supervised;
  /** Has the folders above the database opened again. */
  openFolders(): void;
}

/** Connects to the process that stayed root; undefined where none did. Throws when it is gone. */
export async function connectHelper(): Promise<Helper | undefined> {
  if (helperSocket === undefined) return undefined;
  const connection = await connect(helperSocket);
  connection.on('error', () => {}).unref();
  const ask = (request: Request): void => void connection.write(`${request}\n`);
  return {
    startNode() {
      ask('node');
      return {
        async stop() {
          if (connection.closed) return;
          const closed = once(connection, 'close');
          connection.ref();
          ask('end');
          await closed;
        },
      };
    },
    openFolders: () => ask('open'),
  };
}

async function connect(path: string): Promise<Socket> {
  const until = performance.now() + startsWithinMs;
  for (;;) {
    const connection = createConnection(path);
    try {
      await once(connection, 'connect');
      return connection;
    } catch (error) {
      if (performance.now() > until) throw new Error('the process that stays root does not answer', { cause: error });
      await delay(againMs);
    }
  }
}
