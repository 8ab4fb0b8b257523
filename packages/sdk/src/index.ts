export { type Client, createClient } from './client.ts';
export { isSvcError, SvcError, type SvcErrorCode } from './error.ts';
export { Host } from './host.ts';
export { type CodeResult, type CommandOptions, type ExecResult, Sandbox, type SandboxOptions } from './sandbox.ts';
export type { CallOptions } from './send.ts';
export type { ClientOptions } from './settings.ts';
