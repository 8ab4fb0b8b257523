import { pagesManifest } from './index.ts';
import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { Crawler } from './pages.crawler.ts';
import { enqueueOld, sweepFailed, sweepHosts } from './pages.queue.sql.ts';
import type { Pages } from './pages.reader.ts';
import { sweepPages } from './pages.sql.ts';

/** Days after which a page that an account fetched is deleted, and one that the operator indexed is fetched again. */
const keptDays = 30;
const freshDays = 7;

/** Every night: forgets old pages of accounts, and has the operator's looked at again. */
const sweep: JobDefinition = {
  name: 'pages.sweep',
  cron: '41 3 * * *',
  async run({ sql, clock }) {
    await sweepPages(sql, clock, keptDays);
    await sweepFailed(sql, clock);
    await enqueueOld(sql, clock, freshDays);
    await sweepHosts(sql, clock);
  },
};

/** Pages that were fetched, and the index. It has no routes of its own. */
export function pagesFeature(kernel: Kernel, pages: Pages): Feature {
  const crawler = new Crawler(kernel, pages);
  return {
    ...pagesManifest,
    operations: {},
    jobs: [sweep],
    async start({ metrics }, { works }) {
      metrics.gauge('svc_page_workers', 'Workers that read pages', () => pages.pool.count);
      if (works) crawler.start();
      return {
        stop: async () => {
          await crawler.stop();
          await pages.pool.stop();
        },
      };
    },
  };
}
