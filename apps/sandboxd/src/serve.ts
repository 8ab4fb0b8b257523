import { once } from 'node:events';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createHttpServer } from './http/server.ts';
import { type NodeOptions, type NodeParts, openNode, type SandboxNode } from './sandboxes/index.ts';

/** A node that answers on its socket. */
export interface Serving {
  node: SandboxNode;
  /** Stops answering; sandboxes go on. */
  close(): Promise<void>;
}

/** Finds the sandboxes of the node again, then answers on `socket`, which its owner alone can open. */
export async function serve(parts: NodeParts, options: NodeOptions & { socket: string }): Promise<Serving> {
  const node = await openNode(parts, options);
  const server = createHttpServer(node);
  await mkdir(dirname(options.socket), { recursive: true });
  await rm(options.socket, { force: true });
  server.listen(options.socket);
  await once(server, 'listening');
  await chmod(options.socket, 0o600);
  return {
    node,
    async close() {
      server.close();
      server.closeAllConnections();
      await node.close();
      await rm(options.socket, { force: true });
    },
  };
}
