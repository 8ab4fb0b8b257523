import { byCommand, writeAct } from '../../kernel/audit.ts';
import { type Admin, CommandError, type Commands } from '../../kernel/commands.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { countQueue, countShared, enqueue, listFailed, mostQueued } from './pages.queue.sql.ts';
import { dropShared, ofOperator } from './pages.sql.ts';

/** `svc index …`: pages that every account's searches may find (design: tools, Search). */
export const pagesCommands: Commands = (program, run) => {
  const index = program.command('index').description('pages that every search may find');
  index
    .command('add')
    .description('fetch pages into the index, politely: robots.txt, one page of a site at a time')
    .argument('[urls...]', 'addresses of pages')
    .option('--sitemap <url>', 'every page that a sitemap lists')
    .action(run(add));
  index.command('status').description('how many pages are in it, what waits, what failed and why').action(run(status));
  index
    .command('remove')
    .description('take a page, or all pages of a site, out of the index')
    .argument('<url-or-host>', 'address of a page, or a host name')
    .action(run(remove));
};

async function add(admin: Admin, urls: string[], { sitemap }: { sitemap?: string }) {
  const all = [...urls, ...(sitemap === undefined ? [] : [sitemap])];
  if (all.length === 0) throw new CommandError('give an address, or --sitemap with one');
  for (const url of all) checkAddress(url);
  const { waiting } = await countQueue(admin.sql);
  if (waiting + all.length > mostQueued)
    throw new CommandError(`${waiting} addresses wait already; let them be fetched`);
  const shared = await countShared(admin.sql);
  if (shared >= ofOperator.pages)
    throw new CommandError(`the index holds ${shared} pages, of ${ofOperator.pages}; remove some first`);
  await inTransaction(admin.sql, async (tx) => {
    await enqueue(tx, admin.clock, { urls, kind: 'page', depth: 0 });
    if (sitemap !== undefined) await enqueue(tx, admin.clock, { urls: [sitemap], kind: 'sitemap', depth: 0 });
    const details = { pages: urls.length, sitemap: sitemap ?? null };
    await writeAct(tx, {
      accountId: null,
      by: byCommand,
      action: 'pages.add',
      subject: new URL(all[0] ?? '').host,
      details,
    });
  });
  return { queued: all.length, note: 'a running platform fetches them; see svc index status' };
}

async function status({ sql }: Admin) {
  const [pages, { waiting, failed }, failures] = await Promise.all([
    countShared(sql),
    countQueue(sql),
    listFailed(sql, 20),
  ]);
  return { pages, waiting, failed, failures };
}

async function remove(admin: Admin, what: string) {
  if (!URL.canParse(/^https?:/i.test(what) ? what : `http://${what}`))
    throw new CommandError(`"${what}" must be an address or a host name`);
  const removed = await inTransaction(admin.sql, async (tx) => {
    const count = await dropShared(tx, what);
    const act = { action: 'pages.remove', subject: what.slice(0, 200), details: { pages: count } };
    await writeAct(tx, { accountId: null, by: byCommand, ...act });
    return count;
  });
  if (removed === 0) throw new CommandError(`the index holds nothing of ${what}`);
  return { removed };
}

function checkAddress(url: string): void {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol) || url.length > 4_096)
    throw new CommandError(`"${url}" must be an address such as https://example.com/page`);
}
