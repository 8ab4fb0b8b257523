import { topics as topicNames } from '@svc/contract';
import type { Actor } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Feature } from '../../kernel/feature.ts';
import { checkCaller } from '../../kernel/mount/access.ts';
import { withField } from '../../kernel/streams/feed.frames.ts';
import type { FeedChange, View } from '../../kernel/streams/feed.ts';

type Topic = (typeof topicNames)[number];

/** The topics of the feed: who may read which, and how their changes are told. */
export class Topics {
  readonly #features: () => readonly Feature[];
  /** By topics: who reads the same ones shares a view, as frames are made once for each. */
  readonly #views = new Map<string, View>();

  constructor(features: () => readonly Feature[]) {
    this.#features = features;
  }

  /** The topics asked for; none: all that the caller may read. Throws 403, with the scope, for one that it may not. */
  allowed(actor: Actor, asked: readonly Topic[]): Topic[] {
    const features = this.#features().filter(({ topic }) => topic !== undefined);
    const chosen = asked.length === 0 ? features.filter((feature) => mayRead(feature, actor)) : features;
    const names = chosen.map(({ name }) => name as Topic);
    if (asked.length === 0) return names;
    for (const feature of chosen) if (asked.includes(feature.name as Topic)) checkTopic(feature, actor);
    return names.filter((name) => asked.includes(name));
  }

  /** How the changes of some topics are told. */
  view(topics: readonly Topic[]): View {
    const key = topics.join();
    const known = this.#views.get(key);
    if (known) return known;
    const view: View = { topics: new Set(topics), frame: (change) => ({ event: 'change', json: changeJson(change) }) };
    this.#views.set(key, view);
    return view;
  }
}

const changeJson = ({ record, ...change }: FeedChange): string =>
  record === undefined ? JSON.stringify(change) : withField(change, 'record', record);

function checkTopic(feature: Feature, actor: Actor): void {
  if (feature.topic) checkCaller(feature, feature.topic, actor);
}

function mayRead(feature: Feature, actor: Actor): boolean {
  try {
    checkTopic(feature, actor);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
