import { accountErrors, accounts } from './accounts.ts';
import { artifactErrors, artifacts } from './artifacts.ts';
import { audio } from './audio.ts';
import { audit } from './audit.ts';
import { chat } from './chat.ts';
import { connections } from './connections.ts';
import { devices } from './devices.ts';
import { embeddings } from './embeddings.ts';
import { environmentErrors } from './environments.shapes.ts';
import { environments } from './environments.ts';
import { type ErrorKind, sharedErrors } from './errors.ts';
import { events } from './events.ts';
import { health } from './health.ts';
import { heartbeatErrors, heartbeats } from './heartbeats.ts';
import { hostErrors, hosts } from './hosts.ts';
import { inferenceErrors } from './inference.ts';
import { keyErrors, keys } from './keys.ts';
import { machines } from './machines.ts';
import { mcp } from './mcp.ts';
import { meErrors, meRoutes } from './me.ts';
import { messages } from './messages.ts';
import { models } from './models.ts';
import { notificationErrors, notifications } from './notifications.ts';
import { overview } from './overview.ts';
import { projectErrors, projects } from './projects.ts';
import { promptErrors, prompts } from './prompts.ts';
import { realtime } from './realtime.ts';
import { receipt } from './receipt.ts';
import { relay, relayErrors } from './relay.ts';
import { responses } from './responses.ts';
import type { Route } from './route.ts';
import { sandboxErrors } from './sandboxes.shapes.ts';
import { sandboxes } from './sandboxes.ts';
import { runErrors, scheduler } from './scheduler.ts';
import { scheduleErrors, schedules } from './schedules.ts';
import type { ScopedFeature } from './scopes.ts';
import { sessionErrors, sessions } from './sessions.ts';
import { system } from './system.ts';
import { tokens } from './tokens.ts';
import { toolErrors, tools } from './tools.ts';
import { transcriptErrors } from './transcripts.shapes.ts';
import { transcripts } from './transcripts.ts';
import { uploadErrors, uploads } from './uploads.ts';
import { usage } from './usage.ts';
import { wallet } from './wallet.ts';

/** HTTP status and envelope `type` of every error code: the shared ones and each feature's own. */
export const errorCodes = {
  ...sharedErrors,
  ...keyErrors,
  ...accountErrors,
  ...meErrors,
  ...heartbeatErrors,
  ...hostErrors,
  ...scheduleErrors,
  ...runErrors,
  ...notificationErrors,
  ...sandboxErrors,
  ...artifactErrors,
  ...inferenceErrors,
  ...sessionErrors,
  ...promptErrors,
  ...toolErrors,
  ...uploadErrors,
  ...transcriptErrors,
  ...projectErrors,
  ...environmentErrors,
  ...relayErrors,
} as const satisfies Record<string, ErrorKind>;
export type ErrorCode = keyof typeof errorCodes;

/** Every route of the API by feature and verb: the one table that server, OpenAPI and SDK derive from. */
export const contract = {
  health,
  keys,
  devices,
  machines,
  hosts,
  notifications,
  heartbeats,
  schedules,
  scheduler,
  sandboxes,
  artifacts,
  usage,
  wallet,
  audit,
  chat,
  messages,
  responses,
  embeddings,
  models,
  receipt,
  audio,
  realtime,
  tokens,
  sessions,
  prompts,
  tools,
  uploads,
  transcripts,
  projects,
  environments,
  relay,
  mcp,
  connections,
  me: meRoutes,
  accounts,
  system,
  events,
  overview,
} satisfies Record<ScopedFeature | 'health' | 'artifacts' | 'events' | 'relay', Record<string, Route<ErrorCode>>>;
export type Contract = typeof contract;

export { account } from './accounts.ts';
export { isAllowedAction } from './actions.list.ts';
export { action } from './actions.ts';
export { container, pythonTool, type SkillName, sandboxTool, skillNames } from './agent.ts';
export { act } from './audit.ts';
export {
  type AppChangeKind,
  appChangeKinds,
  clientTrusts,
  connection,
  type LetInKind,
  letInKinds,
} from './connections.ts';
export { device } from './devices.ts';
export {
  environment,
  environmentEvent,
  environmentInvitation,
  environmentMember,
  environmentPort,
  environmentProviders,
  environmentRoles,
  environmentSecret,
  environmentSizes,
  environmentStates,
  portVisibilities,
} from './environments.shapes.ts';
export { type ErrorKind, errorEnvelope } from './errors.ts';
export { type ChangeRecord, change, topics } from './events.ts';
export { newEmail } from './emails.ts';
export { dateTime, epochMs, headersOfConnection, limit, repeatedNames, text, uuid } from './fields.ts';
export { heartbeat, monitorStatuses, pingRecord } from './heartbeats.shapes.ts';
export { slugPattern } from './heartbeats.ts';
export { execStates, hostExec } from './hosts.execs.ts';
export {
  type HostOp,
  type HostOpArgs,
  type HostOpResult,
  hostOpNames,
  hostOps,
  systemText,
} from './hosts.ops.ts';
export { host } from './hosts.ts';
export { defaultKeyName, key, scope } from './keys.ts';
export { machine } from './machines.ts';
export { login, me, passkey } from './me.ts';
export { notification, preferenceRule, type Resolution, resolutions } from './notifications.ts';
export { hiddenValue, webhook, webhookFormats } from './notifications.webhooks.ts';
export { formOf, isOptional, withoutNulls } from './nulls.ts';
export { overviewItem, overviewParts } from './overview.ts';
export { project } from './projects.ts';
export { prompt, promptReport, promptStates, turnOutcome } from './prompts.ts';
export { type RelayReport, relayReport, reportBounds } from './relay.report.ts';
export { relayStatus } from './relay.ts';
export {
  linuxUsername,
  mostUsersBytes,
  type RelayUser,
  relayUsers,
  relayUsersProvisioned,
} from './relay.users.ts';
export { type Reason, type ReasonCode, reasonOf, reasons } from './reasons.ts';
export * from './route.ts';
export {
  artifact,
  backend,
  codeResult,
  defaultTemplate,
  egress,
  egressPreset,
  endedProcess,
  execFrame,
  execResult,
  fileEntry,
  forkedSandbox,
  isOneCommand,
  language,
  oneCommand,
  outputFile,
  receipt,
  resumed,
  sandbox,
  sandboxStates,
  scanVerdict,
  storedEgress,
  type Template,
  template,
  templateNames,
  templates,
} from './sandboxes.shapes.ts';
export { attemptStates, hostKinds, run, runDetail, runStates, schedulerHost, waitReasons } from './scheduler.shapes.ts';
export {
  agentSpec,
  chainSpec,
  commandHashInput,
  httpSpec,
  kinds,
  policy,
  shellSpec,
  target,
  trigger,
} from './schedules.shapes.ts';
export { newSchedule, schedule } from './schedules.ts';
export { ownScopes, type Scope, scopedFeatures, scopeNames, scopesOfPerson } from './scopes.ts';
export { session, sessionControl, sessionEvent } from './sessions.ts';
export {
  type AppTrust,
  appTrusts,
  freshSeconds,
  freshSecondsOfUse,
  isStrong,
  isTicked,
  type Reach,
  reaches,
  reachOf,
  scopesOfApps,
} from './strength.ts';
export { terminalEnd, terminalRequest } from './terminal.ts';
export {
  fetchedPage,
  freshnesses,
  pageFormats,
  searchAnswer,
  searchIntents,
  searchResult,
} from './tools.ts';
export {
  bookmark,
  exportFormats,
  folder,
  insights,
  mostRecordingMs,
  publicTranscript,
  share,
  speaker,
  tracks,
  transcript,
  transcriptStates,
  transcriptSteps,
  transcriptSummary,
  utterance,
  vocabularyEntry,
} from './transcripts.shapes.ts';
export { upload } from './uploads.ts';
export { lastWhole, withoutPartial } from './characters.ts';
export { bytesOfName, shownName } from './file-names.ts';
export { wordsFor } from './words.ts';
