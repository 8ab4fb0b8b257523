import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { RealtimeSessions } from './realtime.sessions.ts';

/** Talks with a model over a WebSocket until either side leaves. */
export const connect = (sessions: RealtimeSessions): Operation =>
  operation(contract.realtime.connect, (context, { query }) => sessions.run(context, query));
