export { type Client, createClient } from './client.ts';
export { isSvcError, SvcError, type SvcErrorCode } from './error.ts';
export { type Change, follow, type Following, type FollowOptions, type Missed } from './follow.ts';
export { Host } from './host.ts';
export { type CodeResult, type CommandOptions, type ExecResult, Sandbox, type SandboxOptions } from './sandbox.ts';
export type { CallOptions } from './send.ts';
export type { ClientOptions } from './settings.ts';
