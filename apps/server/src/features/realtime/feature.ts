import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Inference } from '../inference/index.ts';
import { connect } from './connect.ts';
import { RealtimeSessions } from './realtime.sessions.ts';

/** Speech and text both ways, for clients of OpenAI's Realtime API. */
export function realtimeFeature(kernel: Kernel, inference: Inference): Feature {
  const sessions = new RealtimeSessions(kernel, inference);
  return {
    name: 'realtime',
    operations: { connect: connect(sessions) },
    start: () => Promise.resolve({ drain: () => sessions.drain() }),
  };
}
