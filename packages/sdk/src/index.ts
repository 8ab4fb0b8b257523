export { type CallOptions, type Client, type ClientOptions, createClient } from './client.ts';
export { isSvcError, SvcError, type SvcErrorCode } from './error.ts';
