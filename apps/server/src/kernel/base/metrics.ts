import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Prometheus metrics of this process; `kernel/http/probes.ts` answers them. */
export interface Metrics {
  readonly registry: Registry;
  requestDone(route: string, status: number, seconds: number): void;
  /** `read` is called by each scrape; NaN: not known. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  /** The same for a few values of one label each; what `read` does not name is not told. */
  gauges(name: string, help: string, label: string, read: () => Values | Promise<Values>): void;
  /** Answers what adds to a counter, by its labels; the same counter for the same name. */
  counter(name: string, help: string, labels: readonly string[]): (of: Record<string, string>, by?: number) => void;
}

/** By the value of a label. */
type Values = Readonly<Record<string, number>>;

/** Makes the registry. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  // The default of 10 ms wakes an idle process a hundred times a second: a quarter of what it takes.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 50 });
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
        async collect() {
          this.set(await read());
        },
      });
      registry.registerMetric(gauge);
    },
    gauges: (name, help, label, read) => registry.registerMetric(labelled({ name, help, label }, read)),
    counter(name, help, labelNames) {
      const known = registry.getSingleMetric(name) as Counter | undefined;
      const counter = known ?? new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
      return (of, by = 1) => counter.inc(of, by);
    },
  };
}

/** A gauge that is read anew by each scrape. */
function labelled(
  { name, help, label }: { name: string; help: string; label: string },
  read: () => Values | Promise<Values>,
): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [],
    async collect() {
      const values = await read();
      this.reset();
      for (const [value, number] of Object.entries(values)) this.set({ [label]: value }, number);
    },
  });
}
