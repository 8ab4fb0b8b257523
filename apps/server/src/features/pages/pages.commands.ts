import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import type { Admin, Commands } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { countQueue, countShared, enqueue, listFailed, mostQueued } from './pages.queue.sql.ts';
import { dropShared, listVisible, ofOperator } from './pages.sql.ts';

/** `svc index …`: pages that every account's searches may find (design: tools, Search). */
export const pagesCommands: Commands = (program, run) => {
  const index = program
    .command('index')
    .helpGroup('Machines and sandboxes:')
    .description('pages that every search may find');
  index
    .command('add')
    .description('fetch pages into the index, politely: robots.txt, one page of a site at a time')
    .argument('[urls...]', 'addresses of pages')
    .option('--sitemap <url>', 'every page that a sitemap lists')
    .option('--also-host <host...>', 'further hosts whose pages the sitemap may list, such as www.example.com')
    .action(run(add));
  index.command('status').description('how many pages are in it, what waits, what failed and why').action(run(status));
  index
    .command('remove')
    .description('take a page, or all pages of a site, out of the index')
    .argument('<url-or-host>', 'address of a page, or a host name')
    .action(run(remove));
  index
    .command('prove')
    .description('check that the snippet of a search result stands on the page that is kept')
    .argument('<file>', 'JSON: a result of a search, or a whole answer')
    .action(run(prove));
};

async function add(
  admin: Admin,
  urls: string[],
  { sitemap, alsoHost = [] }: { sitemap?: string; alsoHost?: string[] },
) {
  const all = [...urls, ...(sitemap === undefined ? [] : [sitemap])];
  if (all.length === 0) throw new CommandError('give an address, or --sitemap with one');
  for (const url of all) checkAddress(url);
  const alsoHosts = alsoHost.map(hostOf);
  if (alsoHosts.length > 0 && sitemap === undefined) throw new CommandError('--also-host needs a --sitemap');
  const { waiting } = await countQueue(admin.sql);
  if (waiting + all.length > mostQueued)
    throw new CommandError(`${waiting} addresses wait already; let them be fetched`);
  const shared = await countShared(admin.sql);
  if (shared >= ofOperator.pages)
    throw new CommandError(`the index holds ${shared} pages, of ${ofOperator.pages}; remove some first`);
  await inTransaction(admin.sql, async (tx) => {
    await enqueue(tx, admin.clock, { urls, kind: 'page', depth: 0 });
    if (sitemap !== undefined)
      await enqueue(tx, admin.clock, { urls: [sitemap], kind: 'sitemap', depth: 0, alsoHosts });
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

/** A host as addresses spell it, with its port. */
function hostOf(text: string): string {
  const url = URL.parse(`http://${text}`);
  if (!url || url.host === '' || url.pathname !== '/') throw new CommandError(`"${text}" must be a host name`);
  return url.host;
}

function checkAddress(url: string): void {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol) || url.length > 4_096)
    throw new CommandError(`"${url}" must be an address such as https://example.com/page`);
}

const proven = z.object({
  url: z.string(),
  snippet: z.string(),
  proof: z.object({ sha256: z.string(), start: z.int().min(0), end: z.int().min(0) }),
});
const proofFile = z.union([
  proven.transform((one) => [one]),
  z.object({ results: z.array(proven).min(1) }).transform(({ results }) => results),
]);

/** Fails when one of the results is not borne out by a kept page. */
async function prove({ sql }: Admin, file: string) {
  const parsed = proofFile.safeParse(await readJson(file));
  if (!parsed.success) throw new CommandError(`${file} holds no result of a search with its proof`);
  const results = [];
  for (const { url, snippet, proof } of parsed.data) {
    if (!URL.canParse(url)) throw new CommandError(`"${url}" is no address`);
    const texts = (await listVisible(sql, url)).map((visible) => gunzipSync(visible).toString());
    const text = texts.find((one) => createHash('sha256').update(one).digest('hex') === proof.sha256);
    if (text === undefined) {
      const why = texts.length === 0 ? 'no copy of it is kept' : 'the copy that is kept has another text';
      throw new CommandError(`${url} is not proven: ${why}`);
    }
    if (!stands(text, snippet, proof))
      throw new CommandError(`${url} is not proven: its text does not hold the snippet there`);
    results.push({ url, proven: true });
  }
  return { results };
}

/** The snippet ends with the sentences at the place; what it has before them stands on the page too. */
function stands(text: string, snippet: string, { start, end }: { start: number; end: number }): boolean {
  const bare = (part: string): string => part.replaceAll('…', ' ').replace(/\s+/g, ' ').trim();
  const own = bare(text.slice(start, end));
  const whole = bare(text);
  return own !== '' && bare(snippet).endsWith(own) && snippet.split(' … ').every((part) => whole.includes(bare(part)));
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}`);
  }
}
