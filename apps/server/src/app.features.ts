import { cloudsFeature } from './features/clouds/feature.ts';
import { Clouds } from './features/clouds/index.ts';
import { accountDeletion } from './features.ts';
import { accountsFeature } from './features/accounts/feature.ts';
import { artifactsFeature } from './features/artifacts/feature.ts';
import { auditFeature } from './features/audit/feature.ts';
import { authFeature } from './features/auth/feature.ts';
import { connectionsFeature } from './features/connections/feature.ts';
import { Connections } from './features/connections/index.ts';
import { hubFeature } from './features/hub/feature.ts';
import { environmentsFeature } from './features/environments/feature.ts';
import { Environments, environmentsOf, noticesOf } from './features/environments/index.ts';
import { eventsFeature } from './features/events/feature.ts';
import { devicesFeature } from './features/devices/feature.ts';
import type { DeviceHooks } from './features/devices/index.ts';
import { machinesFeature } from './features/machines/feature.ts';
import { healthFeature } from './features/health/feature.ts';
import { heartbeatsFeature } from './features/heartbeats/feature.ts';
import { hostsFeature } from './features/hosts/feature.ts';
import { Execs } from './features/hosts/index.ts';
import { keysFeature } from './features/keys/feature.ts';
import { meFeature } from './features/me/feature.ts';
import { meteringFeature } from './features/metering/feature.ts';
import { checkPlatform } from './doctor.platform.ts';
import { systemFeature } from './features/system/feature.ts';
import { unpaidOf } from './features/metering/index.ts';
import { usageFeature } from './features/usage/feature.ts';
import { walletFeature } from './features/wallet/feature.ts';
import { notificationsFeature } from './features/notifications/feature.ts';
import { mcpFeature } from './features/mcp/feature.ts';
import type { McpParts } from './features/mcp/mcp.tools.ts';
import { Inference } from './features/inference/index.ts';
import type { KeyLookup } from './features/keys/index.ts';
import { overviewFeature } from './features/overview/feature.ts';
import { projectsFeature } from './features/projects/feature.ts';
import { Prompts } from './features/prompts/index.ts';
import { pagesFeature } from './features/pages/feature.ts';
import { Pages } from './features/pages/index.ts';
import { relayFeature } from './features/relay/feature.ts';
import { Rules } from './features/rules/index.ts';
import { speechFeature } from './features/speech/feature.ts';
import { SpeechProviders } from './features/speech/index.ts';
import { resolveFeature } from './features/resolve/feature.ts';
import { toolsFeature } from './features/tools/feature.ts';
import { sandboxesFeature } from './features/sandboxes/feature.ts';
import { Sandboxes } from './features/sandboxes/index.ts';
import { schedulerFeature } from './features/scheduler/feature.ts';
import { Scheduler } from './features/scheduler/index.ts';
import { Rights } from './features/schedules/index.ts';
import { schedulesFeature } from './features/schedules/feature.ts';
import { mediaFeature } from './features/media/feature.ts';
import { MediaFiles } from './features/media/index.ts';
import { transcriptsFeature } from './features/transcripts/feature.ts';
import { type TranscriptHooks, Transcripts } from './features/transcripts/index.ts';
import { uploadsFeature } from './features/uploads/feature.ts';
import { Uploads } from './features/uploads/index.ts';
import { Forwarder } from './kernel/forwarder/forwarder.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Feature } from './kernel/feature.ts';
import { modelFeatures } from './app.features.models.ts';

/** Finds callers by what they show. */
type Callers = { lookup: KeyLookup } & Pick<ReturnType<typeof authFeature>, 'authenticateLogin' | 'authenticateToken'>;

/** Every feature: the whole of the API. */
export function featuresOf(kernel: Kernel): { features: Feature[]; callers: Callers } {
  const connections = new Connections(kernel);
  const keys = keysFeature(kernel, (keyId) => connections.ofKey(keyId));
  const auth = authFeature(kernel, { connections, lookup: keys.lookup });
  const scheduler = new Scheduler(kernel);
  const sandboxes = new Sandboxes(kernel);
  const execs = new Execs(kernel, keys.lookup);
  const rights = new Rights(keys.lookup, sandboxes);
  const forwarder = new Forwarder(kernel);
  const ofEnvironments = environmentFeatures(kernel, { forwarder, lookup: keys.lookup });
  const store = new Transcripts(kernel);
  const { agent, prompts, inference, book, features: models } = modelFeatures(kernel, keys, { sandboxes, store });
  const onOver: TranscriptHooks['onOver'] = async (db, { accountId, event }) =>
    void (await scheduler.fire(db, accountId, event));
  const recordings = recordingFeatures(kernel, {
    store,
    inference,
    lookup: keys.lookup,
    prompts: book,
    hooks: { onOver },
  });
  const features: Feature[] = [
    healthFeature(() => features.map((feature) => feature.name)),
    keys,
    ...peopleFeatures(kernel, auth, connections),
    resolveFeature(kernel, keys.lookup),
    ...deviceFeatures(scheduler, execs),
    hostsFeature(kernel, execs),
    schedulesFeature({ scheduler, rights }),
    schedulerFeature(scheduler, { sandboxes, agent, rights }),
    notificationsFeature(kernel),
    heartbeatsFeature(kernel, {
      onTransition: async (db, { accountId, event }) => void (await scheduler.fire(db, accountId, event)),
    }),
    ...sandboxFeatures(kernel, sandboxes, {
      forwarder,
      prompts,
      transcripts: recordings.transcripts,
      environments: ofEnvironments.environments,
      relay: ofEnvironments.relay,
    }),
    meteringFeature,
    walletFeature(unpaidOf),
    auditFeature,
    ...models,
    ...webFeatures(kernel),
    ...recordings.all,
    ...ofEnvironments.all,
    usageFeature(() => features.flatMap((feature) => feature.quotas ?? [])),
    systemFeature({ sandboxes, checkPlatform, startedAt: kernel.clock.now() }),
    eventsFeature(() => features),
    overviewFeature(() => features),
  ];
  connections.takesBack(() => features);
  return { features, callers: { ...auth, lookup: keys.lookup } };
}

/** Who signs in, the apps that they let in, and their own account. */
const peopleFeatures = (kernel: Kernel, auth: ReturnType<typeof authFeature>, connections: Connections): Feature[] => [
  auth,
  connectionsFeature(connections),
  hubFeature({ kernel, ...auth }),
  meFeature({ ...auth, deletion: accountDeletion }),
  accountsFeature(auth.signIns),
];

/** What calls, and what serves. */
function deviceFeatures(scheduler: Scheduler, execs: Execs): Feature[] {
  const hooks: DeviceHooks = {
    async onRemoved(tx, device) {
      await scheduler.forgetDevice(tx, device);
      await execs.forgetDevice(tx, device);
    },
  };
  return [devicesFeature(hooks), machinesFeature(scheduler, hooks)];
}

/** Sandboxes by their own routes, what they hand out, and with prompts as tools of the Model Context Protocol. */
function sandboxFeatures(
  kernel: Kernel,
  sandboxes: Sandboxes,
  { forwarder, ...tools }: { forwarder: Forwarder } & Omit<McpParts, 'sandboxes' | 'feature'>,
): Feature[] {
  const feature = sandboxesFeature(kernel, sandboxes, forwarder);
  return [feature, artifactsFeature, mcpFeature(kernel, { sandboxes, feature, ...tools })];
}

/** Recordings: how they come, are read, heard and kept. */
function recordingFeatures(
  kernel: Kernel,
  {
    store,
    ...parts
  }: { store: Transcripts; inference: Inference; lookup: KeyLookup; prompts: Prompts; hooks: TranscriptHooks },
): { transcripts: Feature; all: Feature[] } {
  const uploads = new Uploads(kernel);
  const media = new MediaFiles({ ...kernel, scratchBytes: kernel.config.mediaScratchBytes });
  const speech = new SpeechProviders(kernel);
  const transcripts = transcriptsFeature(kernel, { transcripts: store, uploads, media, speech, ...parts });
  return { transcripts, all: [uploadsFeature(uploads), mediaFeature(media), speechFeature(speech), transcripts] };
}

/** Projects, the machines that are worked on in them, and how these are reached. */
function environmentFeatures(
  kernel: Kernel,
  { forwarder, lookup }: { forwarder: Forwarder; lookup: KeyLookup },
): { environments: Feature; relay: Feature; all: Feature[] } {
  const store = new Environments(kernel, noticesOf(kernel));
  const clouds = new Clouds(kernel);
  const environments = environmentsFeature(kernel, { environments: store, providers: clouds, forwarder });
  const relay = relayFeature(kernel, { environments: store, forwarder, lookup });
  const all = [
    projectsFeature(environmentsOf),
    environments,
    cloudsFeature(kernel, { clouds, environments: store }),
    relay,
  ];
  return { environments, relay, all };
}

/** Search and fetch, the pages behind them, and the rules that both obey. */
function webFeatures(kernel: Kernel): Feature[] {
  const pages = new Pages(kernel);
  const rules = new Rules(kernel);
  return [pagesFeature(kernel, pages), toolsFeature(kernel, { pages, rules })];
}
