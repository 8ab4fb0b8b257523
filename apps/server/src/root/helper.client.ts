import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { helperSocket } from '../config.handed.ts';
import type { Supervised } from '../sandboxd.supervise.ts';
import type { Request } from './helper.ts';

/** It starts while this process does. */
const startsWithinMs = 20_000;
const againMs = 20;
const goneMs = 1_000;

/** The platform's side of the process that stays root. */
interface Helper {
  /** Has the node agent run until it is stopped. */
  startNode(): Supervised;
  /** Has the folders above the database opened again. */
  openFolders(): void;
}

/** Connects to the process that stayed root; undefined where none did. `gone` is called when it ends by itself later. */
export async function connectHelper(gone: (reason: string) => void): Promise<Helper | undefined> {
  if (helperSocket === undefined) return undefined;
  const connection = await connect(helperSocket);
  let isEnding = false;
  connection.on('error', () => {}).unref();
  connection.once('close', () => {
    // Later: who ends both at once ends this one in order.
    if (!isEnding)
      setTimeout(() => gone('the process that stays root ended; start the platform again'), goneMs).unref();
  });
  const ask = (request: Request): void => void connection.write(`${request}\n`);
  return {
    startNode() {
      ask('node');
      return {
        async stop() {
          isEnding = true;
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
