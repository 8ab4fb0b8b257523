import type { FastifyInstance } from 'fastify';
import { artifactsFeature } from './features/artifacts/feature.ts';
import { accountData } from './account-data.ts';
import { deleteOn } from './features/accounts/index.ts';
import { auditFeature } from './features/audit/feature.ts';
import { devicesFeature } from './features/devices/feature.ts';
import { createDeviceTouch } from './features/devices/index.ts';
import { healthFeature } from './features/health/feature.ts';
import { heartbeatsFeature } from './features/heartbeats/feature.ts';
import { hostsFeature } from './features/hosts/feature.ts';
import { keysFeature } from './features/keys/feature.ts';
import { meteringFeature } from './features/metering/feature.ts';
import { usageFeature } from './features/usage/feature.ts';
import { notificationsFeature } from './features/notifications/feature.ts';
import { sandboxesFeature } from './features/sandboxes/feature.ts';
import { Sandboxes } from './features/sandboxes/index.ts';
import { schedulerFeature } from './features/scheduler/feature.ts';
import { Scheduler } from './features/scheduler/index.ts';
import { schedulesFeature } from './features/schedules/feature.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Feature, Role } from './kernel/feature.ts';
import { mount } from './kernel/http/mount.ts';
import { mountHome } from './kernel/http/home.ts';
import { createHttp } from './kernel/http/server.ts';
import type { JobDefinition } from './kernel/feature.ts';
import { mountReference } from './kernel/http/reference.ts';
import { sweepKernel, sweepUsage } from './kernel/sweep.ts';

/** The features of this process, mounted on one HTTP server. */
export interface App {
  readonly http: FastifyInstance;
  readonly features: readonly Feature[];
  readonly jobs: readonly JobDefinition[];
  /** Starts what the features do besides requests, as far as the role of this process needs it; before the first request. */
  start(role?: Role): Promise<void>;
  /** Refuses new requests, lets work in flight finish, ends every stream. */
  drain(): Promise<void>;
}

/** Builds the server: the list of features is the whole of the API. */
export function buildApp(kernel: Kernel): App {
  const keys = keysFeature(kernel);
  const scheduler = new Scheduler(kernel);
  const sandboxes = new Sandboxes(kernel);
  const features: Feature[] = [
    healthFeature(() => features.map((feature) => feature.name)),
    keys,
    devicesFeature,
    hostsFeature(kernel),
    schedulesFeature(scheduler),
    schedulerFeature(scheduler, sandboxes),
    notificationsFeature(kernel),
    heartbeatsFeature(kernel, {
      onTransition: async (db, { accountId, event }) => void (await scheduler.fire(db, accountId, event)),
    }),
    sandboxesFeature(kernel, sandboxes),
    artifactsFeature,
    meteringFeature,
    auditFeature,
    usageFeature(() => features.flatMap((feature) => feature.quotas ?? [])),
  ];

  let draining = false;
  const http = createHttp(kernel);
  mount(
    http,
    kernel,
    {
      authenticate: keys.lookup.authenticate,
      touchDevice: createDeviceTouch(kernel),
      isDraining: () => draining,
    },
    features,
  );
  mountHome(http);
  mountReference(http);
  kernel.metrics.gauge('svc_held_body_bytes', 'Bytes of request bodies in memory', () => http.bodies.heldBytes());
  kernel.metrics.gauge('svc_open_streams', 'Open SSE streams', () => kernel.streams.count());

  let running: Awaited<ReturnType<NonNullable<Feature['start']>>>[] = [];
  return {
    http,
    features,
    jobs: [sweepKernel, sweepUsage, deleteOn(accountData), ...features.flatMap((feature) => feature.jobs ?? [])],
    async start(role = { serves: true, works: true }) {
      const started = await Promise.allSettled(
        features.map(async (feature) => (await feature.start?.(kernel, role)) ?? {}),
      );
      running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      // Those that did start are ended by `drain`.
      const failed = started.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
    },
    async drain() {
      draining = true;
      await Promise.all(running.map(async (work) => work.drain?.()));
      kernel.streams.endAll();
      await Promise.all(running.map(async (work) => work.stop?.()));
    },
  };
}
