import { cloudsFeature } from './features/clouds/feature.ts';
import { Clouds } from './features/clouds/index.ts';
import { artifactsFeature } from './features/artifacts/feature.ts';
import { audioFeature } from './features/audio/feature.ts';
import { auditFeature } from './features/audit/feature.ts';
import { environmentsFeature } from './features/environments/feature.ts';
import { Environments, environmentsOf, noticesOf } from './features/environments/index.ts';
import { eventsFeature } from './features/events/feature.ts';
import { devicesFeature } from './features/devices/feature.ts';
import { healthFeature } from './features/health/feature.ts';
import { heartbeatsFeature } from './features/heartbeats/feature.ts';
import { hostsFeature } from './features/hosts/feature.ts';
import { Execs } from './features/hosts/index.ts';
import { keysFeature } from './features/keys/feature.ts';
import { meteringFeature } from './features/metering/feature.ts';
import { tokensFeature } from './features/tokens/feature.ts';
import { usageFeature } from './features/usage/feature.ts';
import { notificationsFeature } from './features/notifications/feature.ts';
import { chatFeature } from './features/chat/feature.ts';
import { agentFeature } from './features/agent/feature.ts';
import { Agent } from './features/agent/index.ts';
import { mcpFeature } from './features/mcp/feature.ts';
import type { McpParts } from './features/mcp/mcp.tools.ts';
import { messagesFeature } from './features/messages/feature.ts';
import { responsesFeature } from './features/responses/feature.ts';
import { embeddingsFeature } from './features/embeddings/feature.ts';
import { modelsFeature } from './features/models/feature.ts';
import { receiptFeature } from './features/receipt/feature.ts';
import { inferenceFeature } from './features/inference/feature.ts';
import { Inference } from './features/inference/index.ts';
import type { KeyLookup, Spending } from './features/keys/index.ts';
import { projectsFeature } from './features/projects/feature.ts';
import { promptsFeature } from './features/prompts/feature.ts';
import { Prompts } from './features/prompts/index.ts';
import { realtimeFeature } from './features/realtime/feature.ts';
import { pagesFeature } from './features/pages/feature.ts';
import { Pages } from './features/pages/index.ts';
import { relayFeature } from './features/relay/feature.ts';
import { Rules } from './features/rules/index.ts';
import { speechFeature } from './features/speech/feature.ts';
import { SpeechProviders } from './features/speech/index.ts';
import { toolsFeature } from './features/tools/feature.ts';
import { sandboxesFeature } from './features/sandboxes/feature.ts';
import { Sandboxes } from './features/sandboxes/index.ts';
import { schedulerFeature } from './features/scheduler/feature.ts';
import { Scheduler } from './features/scheduler/index.ts';
import { Rights } from './features/schedules/index.ts';
import { schedulesFeature } from './features/schedules/feature.ts';
import { sessionsFeature } from './features/sessions/feature.ts';
import { Sessions } from './features/sessions/index.ts';
import { mediaFeature } from './features/media/feature.ts';
import { MediaFiles } from './features/media/index.ts';
import { transcriptsFeature } from './features/transcripts/feature.ts';
import { type TranscriptHooks, Transcripts, TranscriptsReader } from './features/transcripts/index.ts';
import { uploadsFeature } from './features/uploads/feature.ts';
import { Uploads } from './features/uploads/index.ts';
import { Forwarder } from './kernel/forwarder/forwarder.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Feature } from './kernel/feature.ts';

/** Every feature: the whole of the API. */
export function featuresOf(kernel: Kernel): { features: Feature[]; lookup: KeyLookup } {
  const keys = keysFeature(kernel);
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
    devicesFeature({
      async onRemoved(tx, device) {
        await scheduler.forgetDevice(tx, device);
        await execs.forgetDevice(tx, device);
      },
    }),
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
    auditFeature,
    ...models,
    ...webFeatures(kernel),
    ...recordings.all,
    ...ofEnvironments.all,
    usageFeature(() => features.flatMap((feature) => feature.quotas ?? [])),
    eventsFeature(() => features),
  ];
  return { features, lookup: keys.lookup };
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

/** Sessions that devices share, and the prompts that are found in them. */
function sessionFeatures(
  kernel: Kernel,
  inference: Inference,
  lookup: KeyLookup,
): { sessions: Feature; prompts: Feature; book: Prompts } {
  const sessions = new Sessions(kernel);
  const prompts = new Prompts(kernel, sessions);
  return {
    sessions: sessionsFeature(kernel, sessions, {
      turn: (tx, turn) => prompts.onTurn(tx, turn),
      control: (tx, control) => prompts.onControl(tx, control),
      gone: (tx, sessionId) => prompts.onGone(tx, sessionId),
    }),
    prompts: promptsFeature(kernel, prompts, { sessions, inference, lookup }),
    book: prompts,
  };
}

/** The features that ask models, and those behind them. */
function modelFeatures(
  kernel: Kernel,
  { spending, lookup }: { spending: Spending; lookup: KeyLookup },
  { sandboxes, store }: { sandboxes: Sandboxes; store: Transcripts },
) {
  const inference = new Inference(kernel, spending);
  const agent = new Agent(kernel, inference, { sandboxes, recordings: new TranscriptsReader(kernel, store) });
  const { sessions, prompts, book } = sessionFeatures(kernel, inference, lookup);
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
  return { agent, prompts, inference, book, features };
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
