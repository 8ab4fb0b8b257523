import { contract } from '@svc/contract';
import { sessionsManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { ackControl } from './ackControl.ts';
import { append } from './append.ts';
import { create } from './create.ts';
import { dropLease } from './dropLease.ts';
import { events } from './events.ts';
import { follow } from './follow.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { remove } from './remove.ts';
import { sendControl } from './sendControl.ts';
import type { Sessions } from './sessions.store.ts';
import { type SessionListener, TurnTeller } from './sessions.turns.ts';
import { stream } from './stream.ts';
import { takeLease } from './takeLease.ts';
import { transcript } from './transcript.ts';
import { update } from './update.ts';
import { withdrawControl } from './withdrawControl.ts';
import { sessionsOverview } from './sessions.summary.ts';

/** Sessions that the devices of an account share; `listener` is told of their turns and controls. */
export function sessionsFeature(kernel: Kernel, sessions: Sessions, listener: SessionListener): Feature {
  const teller = new TurnTeller(kernel, listener.turn);
  return {
    ...sessionsManifest,
    operations: {
      list,
      create: create(sessions),
      stream: stream(sessions, listener),
      get: get(sessions),
      update: update(sessions),
      remove: remove(sessions, listener),
      takeLease: takeLease(sessions),
      dropLease: dropLease(sessions),
      append: append(sessions),
      events: events(sessions),
      follow: follow(sessions),
      sendControl: sendControl(sessions),
      withdrawControl: withdrawControl(sessions),
      ackControl: ackControl(sessions, listener),
      transcript: transcript(sessions),
    },
    overview: sessionsOverview,
    topic: contract.sessions.list,
    async start(_kernel, { works }) {
      await sessions.streams.start(() => teller.wake());
      if (works) teller.start();
      return { stop: () => teller.stop() };
    },
  };
}
