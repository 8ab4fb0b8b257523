import type { FastifyInstance } from 'fastify';
import { clients } from './clients/index.ts';
import { accountData } from './features.ts';
import { deleteOn } from './features/accounts/index.ts';
import { accessTokenPrefix } from './features/auth/index.ts';
import { createDeviceTouch } from './features/devices/index.ts';
import { hostProgram } from './features/hosts/index.ts';
import { createAuthentication } from './features/tokens/index.ts';
import { withoutStreams } from './features/mcp/index.ts';
import type { Kernel } from './kernel/kernel.ts';
import { type Feature, type Role, wholeRole } from './kernel/feature.ts';
import { mount } from './kernel/mount/mount.ts';
import { partOf } from './kernel/peers/parts.ts';
import { mountHome } from './kernel/reference/home.ts';
import { mountInstall } from './kernel/reference/install.ts';
import { mountClients } from './kernel/reference/kept.ts';
import { createHttp } from './kernel/http/server.ts';
import type { JobDefinition } from './kernel/feature.ts';
import { refuseMethods } from './kernel/mount/methods.ts';
import { mountReference } from './kernel/reference/reference.ts';
import { sweepFeed, sweepKernel, sweepUsage } from './kernel/sweep.ts';
import { featuresOf } from './app.features.ts';

/** The features of this process, mounted on one HTTP server. */
export interface App {
  readonly http: FastifyInstance;
  readonly features: readonly Feature[];
  readonly jobs: readonly JobDefinition[];
  /** Starts what the features do besides requests, as far as the role of this process needs it; before the first request. */
  start(): Promise<void>;
  /** Refuses new requests, lets work in flight finish, ends every stream. */
  drain(): Promise<void>;
}

/** Mounts the pages besides the operations. */
function mountPages(http: FastifyInstance, kernel: Kernel): void {
  mountHome(http, { npm: clients.npm.path, pip: clients.pip.path });
  mountReference(http);
  mountInstall(http, hostProgram);
  mountClients(http, kernel, [clients.npm, clients.pip]);
  refuseMethods(http, kernel.config, withoutStreams);
}

/** Builds the server of a process that has this role. */
export function buildApp(kernel: Kernel, role: Role = wholeRole): App {
  const { features, callers } = featuresOf(kernel);
  const authenticate = createAuthentication(kernel, callers.lookup);
  let draining = false;
  const http = createHttp(kernel);
  mount(
    http,
    kernel,
    {
      authenticate: (text, { tokenScope, accessTokens }) =>
        accessTokens !== undefined && text.startsWith(accessTokenPrefix)
          ? callers.authenticateToken(text, accessTokens)
          : authenticate(text, tokenScope),
      authenticateLogin: callers.authenticateLogin,
      touchDevice: createDeviceTouch(kernel),
      isDraining: () => draining,
    },
    features,
    role,
  );
  if (role.serves) mountPages(http, kernel);
  kernel.metrics.gauge('svc_held_body_bytes', 'Bytes of request bodies in memory', () => http.bodies.heldBytes());
  kernel.metrics.gauge('svc_open_streams', 'Open SSE streams', () => kernel.streams.count());

  let running: Awaited<ReturnType<NonNullable<Feature['start']>>>[] = [];
  return {
    http,
    features,
    jobs: [
      sweepKernel,
      sweepUsage,
      sweepFeed,
      deleteOn(accountData),
      ...features.flatMap((feature) => feature.jobs ?? []),
    ],
    async start() {
      const started = await Promise.allSettled(
        features.map(async (feature) => (await feature.start?.(kernel, role)) ?? {}),
      );
      running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      // Those that did start are ended by `drain`.
      const failed = started.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
      await kernel.gateways.takePart(partOf(role));
    },
    async drain() {
      draining = true;
      await Promise.all(running.map(async (work) => work.drain?.()));
      kernel.streams.endAll();
      await http.sockets.drain();
      await Promise.all(running.map(async (work) => work.stop?.()));
    },
  };
}
