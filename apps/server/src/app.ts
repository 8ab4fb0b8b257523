import type { FastifyInstance } from 'fastify';
import { artifactsFeature } from './features/artifacts/feature.ts';
import { accountData } from './features.ts';
import { deleteOn } from './features/accounts/index.ts';
import { audioFeature } from './features/audio/feature.ts';
import { auditFeature } from './features/audit/feature.ts';
import { devicesFeature } from './features/devices/feature.ts';
import { createDeviceTouch } from './features/devices/index.ts';
import { healthFeature } from './features/health/feature.ts';
import { heartbeatsFeature } from './features/heartbeats/feature.ts';
import { hostsFeature } from './features/hosts/feature.ts';
import { hostProgram } from './features/hosts/index.ts';
import { keysFeature } from './features/keys/feature.ts';
import { meteringFeature } from './features/metering/feature.ts';
import { tokensFeature } from './features/tokens/feature.ts';
import { createAuthentication } from './features/tokens/index.ts';
import { usageFeature } from './features/usage/feature.ts';
import { notificationsFeature } from './features/notifications/feature.ts';
import { chatFeature } from './features/chat/feature.ts';
import { agentFeature } from './features/agent/feature.ts';
import { Agent } from './features/agent/index.ts';
import { mcpFeature } from './features/mcp/feature.ts';
import { withoutStreams } from './features/mcp/index.ts';
import { messagesFeature } from './features/messages/feature.ts';
import { responsesFeature } from './features/responses/feature.ts';
import { embeddingsFeature } from './features/embeddings/feature.ts';
import { modelsFeature } from './features/models/feature.ts';
import { receiptFeature } from './features/receipt/feature.ts';
import { inferenceFeature } from './features/inference/feature.ts';
import { Inference } from './features/inference/index.ts';
import type { KeyLookup, Spending } from './features/keys/index.ts';
import { promptsFeature } from './features/prompts/feature.ts';
import { Prompts } from './features/prompts/index.ts';
import { realtimeFeature } from './features/realtime/feature.ts';
import { pagesFeature } from './features/pages/feature.ts';
import { Pages } from './features/pages/index.ts';
import { Rules } from './features/rules/index.ts';
import { toolsFeature } from './features/tools/feature.ts';
import { sandboxesFeature } from './features/sandboxes/feature.ts';
import { Sandboxes } from './features/sandboxes/index.ts';
import { schedulerFeature } from './features/scheduler/feature.ts';
import { Scheduler } from './features/scheduler/index.ts';
import { Rights } from './features/schedules/index.ts';
import { schedulesFeature } from './features/schedules/feature.ts';
import { sessionsFeature } from './features/sessions/feature.ts';
import { Sessions } from './features/sessions/index.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Feature, Role } from './kernel/feature.ts';
import { mount } from './kernel/mount/mount.ts';
import { mountHome } from './kernel/reference/home.ts';
import { mountInstall } from './kernel/reference/install.ts';
import { createHttp } from './kernel/http/server.ts';
import type { JobDefinition } from './kernel/feature.ts';
import { refuseMethods } from './kernel/mount/methods.ts';
import { mountReference } from './kernel/reference/reference.ts';
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

/** Sandboxes by their own routes, what they hand out, and with prompts as tools of the Model Context Protocol. */
function sandboxFeatures(kernel: Kernel, sandboxes: Sandboxes, prompts: Feature): Feature[] {
  const feature = sandboxesFeature(kernel, sandboxes);
  return [feature, artifactsFeature, mcpFeature(kernel, { sandboxes, feature, prompts })];
}

/** Sessions that devices share, and the prompts that are found in them. */
function sessionFeatures(
  kernel: Kernel,
  inference: Inference,
  lookup: KeyLookup,
): { sessions: Feature; prompts: Feature } {
  const sessions = new Sessions(kernel);
  const prompts = new Prompts(kernel, sessions);
  return {
    sessions: sessionsFeature(kernel, sessions, {
      turn: (tx, turn) => prompts.onTurn(tx, turn),
      control: (tx, control) => prompts.onControl(tx, control),
      gone: (tx, sessionId) => prompts.onGone(tx, sessionId),
    }),
    prompts: promptsFeature(kernel, prompts, { sessions, inference, lookup }),
  };
}

/** What asks models, and what stands behind it. */
function modelFeatures(
  kernel: Kernel,
  { spending, lookup }: { spending: Spending; lookup: KeyLookup },
  sandboxes: Sandboxes,
) {
  const inference = new Inference(kernel, spending);
  const agent = new Agent(kernel, inference, sandboxes);
  const { sessions, prompts } = sessionFeatures(kernel, inference, lookup);
  const features: Feature[] = [
    inferenceFeature(inference),
    modelsFeature(inference),
    agentFeature,
    chatFeature(agent),
    messagesFeature(agent, inference),
    responsesFeature(inference),
    embeddingsFeature(inference),
    audioFeature(inference),
    realtimeFeature(kernel, inference),
    receiptFeature,
    tokensFeature,
    sessions,
    prompts,
  ];
  return { agent, prompts, features };
}

/** Search and fetch, the pages behind them, and the rules that both obey. */
function webFeatures(kernel: Kernel): Feature[] {
  const pages = new Pages(kernel);
  const rules = new Rules(kernel);
  return [pagesFeature(kernel, pages), toolsFeature(kernel, { pages, rules })];
}

/** What is answered besides the operations. */
function mountPages(http: FastifyInstance): void {
  mountHome(http);
  mountReference(http);
  mountInstall(http, hostProgram);
  refuseMethods(http, withoutStreams);
}

/** Every feature: the whole of the API. */
function featuresOf(kernel: Kernel) {
  const keys = keysFeature(kernel);
  const scheduler = new Scheduler(kernel);
  const sandboxes = new Sandboxes(kernel);
  const rights = new Rights(keys.lookup, sandboxes);
  const { agent, prompts, features: models } = modelFeatures(kernel, keys, sandboxes);
  const features: Feature[] = [
    healthFeature(() => features.map((feature) => feature.name)),
    keys,
    devicesFeature({ onRemoved: (tx, device) => scheduler.forgetDevice(tx, device) }),
    hostsFeature(kernel),
    schedulesFeature({ scheduler, rights }),
    schedulerFeature(scheduler, { sandboxes, agent, rights }),
    notificationsFeature(kernel),
    heartbeatsFeature(kernel, {
      onTransition: async (db, { accountId, event }) => void (await scheduler.fire(db, accountId, event)),
    }),
    ...sandboxFeatures(kernel, sandboxes, prompts),
    meteringFeature,
    auditFeature,
    ...models,
    ...webFeatures(kernel),
    usageFeature(() => features.flatMap((feature) => feature.quotas ?? [])),
  ];
  return { features, lookup: keys.lookup };
}

/** Builds the server. */
export function buildApp(kernel: Kernel): App {
  const { features, lookup } = featuresOf(kernel);
  let draining = false;
  const http = createHttp(kernel);
  mount(
    http,
    kernel,
    {
      authenticate: createAuthentication(kernel, lookup),
      touchDevice: createDeviceTouch(kernel),
      isDraining: () => draining,
    },
    features,
  );
  mountPages(http);
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
