import type { Manifest } from '../../kernel/feature.ts';

export { checkModels } from './inference.admit.ts';
export { headersFor, LaneFailure } from './inference.attempt.ts';
export {
  checkProviders,
  findLocalProviders,
  listProviders,
  providerKinds,
} from './inference.commands.ts';
export { Inference } from './inference.dispatch.ts';
export {
  addProvider,
  aliasProvider,
  copyForPlatform,
  moveProvider,
  type NewProvider,
  removeProvider,
} from './inference.edit.commands.ts';
export { type Asked, keepAlive, sendWhole, targetOf } from './inference.exchange.ts';
export { allFailed } from './inference.failover.ts';
export type { Bill } from './inference.meter.ts';
export { findRequest } from './inference.sql.ts';
export { type AskTurn, type TurnClosing, TurnCut, type Turned } from './inference.turn.ts';

/** The feature without a running platform. */
export const inferenceManifest: Manifest = {
  name: 'inference',
  data: {
    tables: ['inference.requests', 'inference.stored'],
  },
};
