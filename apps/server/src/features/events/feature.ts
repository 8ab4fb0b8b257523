import type { Feature } from '../../kernel/feature.ts';
import { Topics } from './events.topics.ts';
import { list } from './list.ts';
import { stream } from './stream.ts';

/** The feed of an account, for clients that want more than one feature's changes; `features` are those of the platform. */
export function eventsFeature(features: () => readonly Feature[]): Feature {
  const topics = new Topics(features);
  return {
    name: 'events',
    operations: { list: list(topics), stream: stream(topics) },
    start: ({ feed }) => Promise.resolve({ drain: () => Promise.resolve(feed.release()) }),
  };
}
