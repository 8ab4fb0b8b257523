import type { Contract } from '../index.ts';
import { accountsDocs } from './accounts.ts';
import { artifactsDocs } from './artifacts.ts';
import { audioDocs } from './audio.ts';
import { realtimeDocs } from './realtime.ts';
import { auditDocs } from './audit.ts';
import { devicesDocs } from './devices.ts';
import type { AnyDoc, Docs } from './docs.ts';
import { eventsDocs } from './events.ts';
import { healthDocs } from './health.ts';
import { heartbeatsDocs } from './heartbeats.ts';
import { hostsDocs } from './hosts.ts';
import { connectionsDocs } from './connections.ts';
import { keysDocs } from './keys.ts';
import { meDocs } from './me.ts';
import { notificationsDocs } from './notifications.ts';
import { sandboxesDocs } from './sandboxes.ts';
import { schedulerDocs } from './scheduler.ts';
import { schedulesDocs } from './schedules.ts';
import { chatDocs } from './chat.ts';
import { messagesDocs } from './messages.ts';
import { responsesDocs } from './responses.ts';
import { embeddingsDocs } from './embeddings.ts';
import { environmentsDocs } from './environments.ts';
import { machinesDocs } from './machines.ts';
import { modelsDocs } from './models.ts';
import { projectsDocs } from './projects.ts';
import { overviewDocs } from './overview.ts';
import { promptsDocs } from './prompts.ts';
import { receiptDocs } from './receipt.ts';
import { mcpDocs } from './mcp.ts';
import { relayDocs } from './relay.ts';
import { sessionsDocs } from './sessions.ts';
import { systemDocs } from './system.ts';
import { tokensDocs } from './tokens.ts';
import { toolsDocs } from './tools.ts';
import { transcriptsDocs } from './transcripts.ts';
import { uploadsDocs } from './uploads.ts';
import { usageDocs } from './usage.ts';
import { walletDocs } from './wallet.ts';

/** The docs of every operation, by feature and verb. Apart from the contract: a client needs none of this text. */
export const docs = {
  health: healthDocs,
  keys: keysDocs,
  devices: devicesDocs,
  machines: machinesDocs,
  hosts: hostsDocs,
  notifications: notificationsDocs,
  heartbeats: heartbeatsDocs,
  schedules: schedulesDocs,
  scheduler: schedulerDocs,
  sandboxes: sandboxesDocs,
  artifacts: artifactsDocs,
  usage: usageDocs,
  wallet: walletDocs,
  audit: auditDocs,
  chat: chatDocs,
  messages: messagesDocs,
  responses: responsesDocs,
  embeddings: embeddingsDocs,
  models: modelsDocs,
  receipt: receiptDocs,
  audio: audioDocs,
  realtime: realtimeDocs,
  tokens: tokensDocs,
  sessions: sessionsDocs,
  prompts: promptsDocs,
  tools: toolsDocs,
  uploads: uploadsDocs,
  transcripts: transcriptsDocs,
  projects: projectsDocs,
  environments: environmentsDocs,
  relay: relayDocs,
  mcp: mcpDocs,
  connections: connectionsDocs,
  me: meDocs,
  accounts: accountsDocs,
  system: systemDocs,
  events: eventsDocs,
  overview: overviewDocs,
} satisfies { readonly [F in keyof Contract]: Docs<Contract[F]> };

/** The docs of one operation; throws for one that is not of the contract. */
export function docOf(feature: string, verb: string): AnyDoc {
  const doc = (docs as Record<string, Record<string, AnyDoc>>)[feature]?.[verb];
  if (!doc) throw new Error(`no operation ${feature}.${verb}`);
  return doc;
}

export type { AnyDoc, Doc, Docs, Example } from './docs.ts';
export { type Sample, samples } from './samples.ts';
