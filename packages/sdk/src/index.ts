export { type Client, type ClientOptions, createClient } from './client.ts';
export { SvcError } from './error.ts';
