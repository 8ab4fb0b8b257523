import type { Feature } from '../../kernel/feature.ts';
import type { SpeechProviders } from './speech.providers.ts';

/** Who hears recordings: providers of speech, failover, cost. It has no routes of its own. */
export const speechFeature = (speech: SpeechProviders): Feature => ({
  name: 'speech',
  operations: {},
  start(_kernel, { works }) {
    if (!works) return Promise.resolve({});
    const stop = speech.start();
    return Promise.resolve({ stop });
  },
});
