import { once } from 'node:events';
import { chmod, chown, mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createHttpServer } from './http/server.ts';
import { type NodeOptions, type NodeParts, openNode, type SandboxNode } from './sandboxes/index.ts';

/** A node that answers on its socket. */
export interface Serving {
  node: SandboxNode;
  /** Stops answering; sandboxes go on. */
  close(): Promise<void>;
}

/** Finds the sandboxes of the node again, then answers on `socket`, which its owner and the group of its directory can open. */
export async function serve(parts: NodeParts, options: NodeOptions & { socket: string }): Promise<Serving> {
  const node = await openNode(parts, options);
  const server = createHttpServer(node);
  await mkdir(dirname(options.socket), { recursive: true });
  await rm(options.socket, { force: true });
  server.listen(options.socket);
  await once(server, 'listening');
  await chown(options.socket, -1, (await stat(dirname(options.socket))).gid);
  await chmod(options.socket, 0o660);
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
