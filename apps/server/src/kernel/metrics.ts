import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError } from './http/errors.ts';
import { checkHost, headsWithin, type OwnNames } from './http/heads.ts';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Prometheus metrics of this process, on a listener of their own. */
export interface Metrics {
  readonly registry: Registry;
  requestDone(route: string, status: number, seconds: number): void;
  gauge(name: string, help: string, read: () => number): void;
  /** Answers what adds to a counter, by its labels; the same counter for the same name. */
  counter(name: string, help: string, labels: readonly string[]): (of: Record<string, string>, by?: number) => void;
  /** Listens for Prometheus at `/metrics`, and answers the given probes; answers the port. */
  listen(at: { host: string; port: number; names?: OwnNames }, probes?: Probes): Promise<number>;
  close(): Promise<void>;
}

/** What else stands on the listener, by path: a process that serves no API has its health there. */
export type Probes = Readonly<Record<string, () => Promise<Probe>>>;

/** An answer to a probe. */
export interface Probe {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** Makes the registry; nothing listens until `listen`. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'svc_http_requests_total',
    help: 'Requests answered, by operation and status class',
    labelNames: ['route', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'svc_http_request_seconds',
    help: 'Time from the request to the end of its answer, streams excluded',
    labelNames: ['route'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  });
  const children = new Map<string, { inc(): void }>();
  const durations = new Map<string, { observe(seconds: number): void }>();
  let server: Server | undefined;
  return {
    registry,
    requestDone(route, status, seconds) {
      // Looking a labelled child up hashes its labels; kept by our own key it costs a map look-up.
      const statusClass = `${Math.trunc(status / 100)}xx`;
      const id = `${route} ${statusClass}`;
      let child = children.get(id);
      if (!child) children.set(id, (child = requests.labels(route, statusClass)));
      child.inc();
      let timer = durations.get(route);
      if (!timer) durations.set(route, (timer = duration.labels(route)));
      timer.observe(seconds);
    },
    gauge(name, help, read) {
      const gauge = new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      });
      registry.registerMetric(gauge);
    },
    counter(name, help, labelNames) {
      const known = registry.getSingleMetric(name) as Counter | undefined;
      const counter = known ?? new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
      return (of, by = 1) => counter.inc(of, by);
    },
    async listen(at, probes = {}) {
      server = await serveMetrics(registry, at, probes);
      return (server.address() as AddressInfo).port;
    },
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (!server?.listening) return;
      server.close(() => resolve());
      server.closeAllConnections();
      await promise;
    },
  };
}

async function serveMetrics(
  registry: Registry,
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
