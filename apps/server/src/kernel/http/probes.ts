import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError } from '../base/errors.ts';
import type { Metrics } from '../base/metrics.ts';
import { checkHost, headsWithin, type OwnNames } from './heads.ts';

/** Further probes of the listener, by path: a process that serves no API has its health there. */
export type Probes = Readonly<Record<string, () => Promise<Probe>>>;

/** An answer to a probe. */
interface Probe {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** A listener for Prometheus at `/metrics` and for probes. */
interface ProbeListener {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens for Prometheus at `/metrics`, and answers the given probes. Throws when it cannot listen there. */
export async function listenForProbes(
  { registry }: Pick<Metrics, 'registry'>,
  at: { host: string; port: number; names?: OwnNames },
  probes: Probes = {},
): Promise<ProbeListener> {
  const server = await serveMetrics(registry, at, probes);
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      await promise;
    },
  };
}

async function serveMetrics(
  registry: Metrics['registry'],
  at: { host: string; port: number; names?: OwnNames },
  probes: Probes,
): Promise<Server> {
  const answer = async (path: string): Promise<{ status: number; type?: string; text: string; headers?: object }> => {
    if (path === '/metrics') return { status: 200, type: registry.contentType, text: await registry.metrics() };
    const probe = probes[path];
    if (!probe) return { status: 404, text: '' };
    const { status, body, headers = {} } = await probe();
    return { status, type: 'application/json; charset=utf-8', text: JSON.stringify(body), headers };
  };
  const server = createServer(headsWithin, (request, response) => {
    try {
      checkHost(request, at.names);
    } catch (error) {
      response.writeHead(error instanceof ApiError ? error.status : 500).end();
      return;
    }
    answer(request.url ?? '').then(
      ({ status, type, text, headers }) =>
        response.writeHead(status, { ...headers, ...(type && { 'content-type': type }) }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(at.port, at.host);
  await once(server, 'listening');
  return server;
}
