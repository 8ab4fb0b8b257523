export { type Client, createClient } from './client.ts';
export { isSvcError, SvcError, type SvcErrorCode } from './error.ts';
export { type Change, type Following, type FollowOptions, follow, type Missed, type Topic } from './follow.ts';
export { Host } from './host.ts';
export { indexedDbStorage } from './outbox.indexeddb.ts';
export type { OutboxStorage } from './outbox.storage.ts';
export {
  type Outbox,
  type OutboxChange,
  type OutboxEntry,
  type OutboxInput,
  type OutboxOperation,
  type OutboxOptions,
  openOutbox,
} from './outbox.ts';
export { type CodeResult, type CommandOptions, type ExecResult, Sandbox, type SandboxOptions } from './sandbox.ts';
export type { CallOptions } from './send.ts';
export type { ClientOptions } from './settings.ts';
export { type UploadOptions, type UploadRecord, uploadFile } from './upload.ts';
