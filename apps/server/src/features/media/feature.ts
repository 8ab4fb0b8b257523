import type { Feature } from '../../kernel/feature.ts';
import type { MediaFiles } from './index.ts';

/** Recordings as ffmpeg reads them. It has no routes of its own. */
export function mediaFeature(media: MediaFiles): Feature {
  return {
    name: 'media',
    operations: {},
    async start() {
      await media.start();
      return { stop: async () => media.stop() };
    },
  };
}
