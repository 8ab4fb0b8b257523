import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a gateway that cuts connections. */
export interface Cuts extends AsyncDisposable {
  url: string;
  /** Connections so far. */
  count(): number;
  /** Cuts every open connection. */
  cutAll(): void;
}

/**
 * Opens one. `after` says of the nth connection, from 0, after how many bytes of answers it is reset: 0 is before the first,
 * when the gateway has answered; undefined never.
 */
export async function openCuts(gatewayUrl: string, after: (nth: number) => number | undefined): Promise<Cuts> {
  const { hostname, port } = new URL(gatewayUrl);
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    let left = after(count) ?? Infinity;
    count += 1;
    const gateway = connect(Number(port), hostname);
    const end = (): void => {
      client.destroy();
      gateway.destroy();
      open.delete(client);
    };
    open.add(client);
    for (const socket of [client, gateway]) socket.on('error', end).on('close', end);
    client.pipe(gateway);
    gateway.on('data', (bytes: Buffer) => {
      client.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left >= 0) return;
      // What was let through arrives; a reset would take it back.
      client.end();
      gateway.destroy();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const cutAll = (): void => {
    for (const client of open) client.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => count,
    cutAll,
    async [Symbol.asyncDispose]() {
      server.close();
      cutAll();
    },
  };
}
