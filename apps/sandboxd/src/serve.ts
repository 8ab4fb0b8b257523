import { once } from 'node:events';
import { chmod, chown, mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHttpServer } from './http/server.ts';
import { type NodeOptions, type NodeParts, openNode, type SandboxNode } from './sandboxes/index.ts';

const drainStepMs = 20;

/** A node that answers on its socket. */
interface Serving {
  node: SandboxNode;
  /** Settles when no command or cell runs that somebody waits for, at the latest after `ms`. */
  drain(ms: number): Promise<void>;
  /** Stops answering; sandboxes go on. */
  close(): Promise<void>;
}

/** Where a node answers. A folder of another group than root gives its socket to that group, any other to `group`. */
interface Door {
  socket: string;
  group: number | undefined;
}

/** Finds the sandboxes of the node again, then answers on `socket`, which its owner and a group can open. */
export async function serve(parts: NodeParts, options: NodeOptions & Door): Promise<Serving> {
  const node = await openNode(parts, options);
  const server = createHttpServer(node);
  await mkdir(dirname(options.socket), { recursive: true });
  await rm(options.socket, { force: true });
  server.listen(options.socket);
  await once(server, 'listening');
  const { gid } = await stat(dirname(options.socket));
  await chown(options.socket, -1, gid === 0 ? (options.group ?? gid) : gid);
  await chmod(options.socket, 0o660);
  return {
    node,
    async drain(ms) {
      const until = performance.now() + ms;
      const isBusy = () => [...node.context.entries.values()].some(({ busy }) => busy === 'command' || busy === 'cell');
      while (isBusy() && performance.now() < until) await sleep(drainStepMs);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await node.close();
      await rm(options.socket, { force: true });
    },
  };
}
