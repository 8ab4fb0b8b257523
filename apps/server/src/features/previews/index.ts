import type { Kernel } from '../../kernel/context.ts';
import type { Feature } from '../../kernel/feature.ts';
import { type Sandboxes, sandboxHeaders } from '../sandboxes/index.ts';
import { create } from './create.ts';
import { PreviewListener } from './previews.listener.ts';
import { deleteExpired } from './previews.sql.ts';

/** Addresses of ports inside sandboxes. */
export function previewsFeature(kernel: Kernel, sandboxes: Sandboxes): Feature {
  const listener = new PreviewListener(kernel, sandboxes);
  return {
    name: 'previews',
    headers: sandboxHeaders(kernel),
    operations: { create: create(sandboxes, listener) },
    jobs: [
      {
        name: 'previews.sweep',
        cron: '*/15 * * * *',
        retries: 0,
        run: ({ sql, clock }) => deleteExpired(sql, clock),
      },
    ],
    async start() {
      await listener.listen();
      return { stop: () => Promise.resolve(listener.close()) };
    },
  };
}
