export { NodeClient, NodeFailure } from './client.ts';
export * from './shapes.ts';
