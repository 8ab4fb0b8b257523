import { createHash } from 'node:crypto';
import { pageAddress } from '@svc/extraction/addresses';
import { type Db, type Fragment, nowOf, type Time } from '../../kernel/db/db.ts';
import type { PageFacts } from './pages.work.ts';

/** Whose a page is; null: the operator's, for every account. */
export type Owner = string | null;

/** A page that is kept, without its content. */
export interface StoredPage {
  id: number;
  url: string;
  title: string;
  byline: string;
  description: string;
  canonical: string;
  lang: string;
  content_type: string;
  published_at: string;
  truncated: boolean;
  etag: string;
  needs_script: boolean;
  last_modified: string;
  fetched_at: string;
  age_ms: number;
}

/** A page that is to be kept. */
interface NewPage {
  owner: Owner;
  /** As it was asked for. */
  address: string;
  /** After redirects. */
  url: string;
  facts: PageFacts;
  blocks: Uint8Array;
  visible: Uint8Array;
  outline: Uint8Array;
  /** Undefined: it asks not to be indexed. */
  indexed: string | undefined;
  truncated: boolean;
  etag: string;
  lastModified: string;
}

/** Limits of an account's pages; the oldest go first. */
const ofAccount = { pages: 2_000, bytes: 64 * 1024 * 1024 };
/** Limit of the operator's pages; `index add` is refused past it. */
export const ofOperator = { pages: 100_000 };

/** The key of an address, with which all its spellings meet. */
export const addressHash = (address: string): Buffer => createHash('sha256').update(pageAddress(address)).digest();

/** The dictionary of the index for a page's language. */
const dictionaryOf = (lang: string): string =>
  /^ro\b/i.test(lang) ? 'romanian' : /^en\b/i.test(lang) ? 'english' : 'simple';

/**
 * A word of the index that names the owner: the index itself then finds what an account may see. With a space, which no
 * word of a page has.
 */
const ownerWord = (owner: Owner): string => `owner ${owner ?? 'shared'}`;

const columns = (db: Db, clock: Time) => db`
  id, url, title, byline, description, canonical, lang, content_type, published_at, needs_script, truncated, etag, last_modified,
  fetched_at, (extract(epoch from ${nowOf(db, clock)} - fetched_at) * 1000)::float8 as age_ms`;

/**
 * The newest copy of a page that an account may see, by the address that was asked for or the one it led to; null: that the
 * operator keeps.
 */
export async function findPage(db: Db, clock: Time, owner: Owner, address: string): Promise<StoredPage | undefined> {
  const hash = addressHash(address);
  const [row] = await db<StoredPage[]>`
    select ${columns(db, clock)} from pages.pages
    where (address_hash = ${hash} or url_hash = ${hash}) and (account_id = ${owner} or account_id is null)
    order by fetched_at desc limit 1`;
  return row;
}

/** The content of a page, gzipped; undefined when it went in the meantime. */
export async function readBlocks(db: Db, id: number): Promise<Uint8Array | undefined> {
  const [row] = await db<{ blocks: Buffer }[]>`select blocks from pages.pages where id = ${id}`;
  return row?.blocks;
}

/** The visible text of a page with its outline, gzipped; undefined when it went in the meantime. */
export async function readVisible(
  db: Db,
  id: number,
): Promise<{ visible: Uint8Array; outline?: Uint8Array } | undefined> {
  const [row] = await db<{ visible: Buffer; outline: Buffer | null }[]>`
    select visible, outline from pages.pages where id = ${id}`;
  // Kept before there were outlines: none.
  const outline = row?.outline;
  return row && { visible: new Uint8Array(row.visible), ...(outline && { outline: new Uint8Array(outline) }) };
}

/** Visible texts, gzipped, of all kept copies of a page, of any owner. */
export async function listVisible(db: Db, address: string): Promise<Uint8Array[]> {
  const hash = addressHash(address);
  const rows = await db<{ visible: Buffer }[]>`
    select visible from pages.pages where address_hash = ${hash} or url_hash = ${hash} order by fetched_at desc limit 100`;
  return rows.map(({ visible }) => visible);
}

/** Keeps a page in place of the owner's older copy; drops the account's oldest past its bounds. */
export async function keepPage(db: Db, clock: Time, page: NewPage): Promise<StoredPage> {
  const { facts, owner } = page;
  const dictionary = dictionaryOf(facts.lang);
  const words: Fragment =
    page.indexed === undefined
      ? db`null`
      : db`setweight(to_tsvector(${dictionary}::regconfig, ${facts.title}), 'A') ||
          to_tsvector(${dictionary}::regconfig, ${page.indexed}) || array_to_tsvector(array[${ownerWord(owner)}])`;
  const [row] = await db<StoredPage[]>`
    insert into pages.pages as old (account_id, address, address_hash, url, url_hash, host, title, byline, description, canonical, lang,
      content_type, published_at, needs_script, blocks, visible, outline, truncated, bytes, etag, last_modified, words, fetched_at)
    values (${owner}, ${pageAddress(page.address)}, ${addressHash(page.address)}, ${page.url}, ${addressHash(page.url)}, ${new URL(page.url).hostname}, ${facts.title},
      ${facts.byline}, ${facts.description}, ${facts.canonical}, ${facts.lang}, ${facts.contentType},
      ${facts.publishedAt}, ${facts.needsScript}, ${Buffer.from(page.blocks)}, ${Buffer.from(page.visible)}, ${Buffer.from(page.outline)}, ${page.truncated},
      ${page.blocks.length + page.visible.length + page.outline.length}, ${page.etag}, ${page.lastModified}, ${words}, ${nowOf(db, clock)})
    on conflict (account_id, address_hash) do update set url = excluded.url, url_hash = excluded.url_hash, host = excluded.host,
      title = excluded.title, byline = excluded.byline, description = excluded.description,
      canonical = excluded.canonical, lang = excluded.lang, content_type = excluded.content_type,
      published_at = excluded.published_at, needs_script = excluded.needs_script, blocks = excluded.blocks, visible = excluded.visible, outline = excluded.outline,
      truncated = excluded.truncated, bytes = excluded.bytes, etag = excluded.etag,
      last_modified = excluded.last_modified, words = excluded.words, fetched_at = excluded.fetched_at
    returning ${columns(db, clock)}`;
  if (owner !== null) await dropOldest(db, owner);
  if (!row) throw new Error('a page was not kept');
  return row;
}

async function dropOldest(db: Db, owner: string): Promise<void> {
  await db`
    delete from pages.pages where id in (
      select id from (
        select id, row_number() over newest as n, sum(bytes) over newest as taken from pages.pages
        where account_id = ${owner} window newest as (order by fetched_at desc, id desc)) as kept
      where n > ${ofAccount.pages} or taken > ${ofAccount.bytes})`;
}

/** The server says that the page is as it was. */
export async function touchPage(db: Db, clock: Time, id: number): Promise<void> {
  await db`update pages.pages set fetched_at = ${nowOf(db, clock)} where id = ${id}`;
}

/** The server says that the page is gone: the owner's copy goes too. */
export async function dropPage(db: Db, owner: Owner, address: string): Promise<void> {
  await db`
    delete from pages.pages where address_hash = ${addressHash(address)} and account_id is not distinct from ${owner}`;
}

/** A page of the index that may answer. */
export interface IndexHit {
  url: string;
  title: string;
  published_at: string;
}

/** A search of the index. */
export interface IndexQuery {
  accountId: string;
  query: string;
  domains: readonly string[];
  excludeDomains: readonly string[];
  limit: number;
}

/** Rows that are ranked at most: of more, any so many. */
const mostRanked = 2_000;

/** The pages of the index that hold the query's words, all of them or, when none does, some; best first. */
export async function searchIndex(db: Db, given: IndexQuery): Promise<IndexHit[]> {
  const all = await hitsOf(db, given, '&');
  return all.length > 0 ? all : hitsOf(db, given, '|');
}

async function hitsOf(db: Db, given: IndexQuery, joint: '&' | '|'): Promise<IndexHit[]> {
  const inLanguage = (dictionary: string): Fragment =>
    db`replace(plainto_tsquery(${dictionary}::regconfig, ${given.query})::text, '&', ${joint})::tsquery`;
  const owners = `'${ownerWord(given.accountId)}' | '${ownerWord(null)}'`;
  return db<IndexHit[]>`
    with asked as materialized (
      select ${inLanguage('english')} || ${inLanguage('romanian')} || ${inLanguage('simple')} as words)
    select url, title, published_at from (
      select url, title, published_at, page.words, asked.words as wanted from pages.pages as page, asked
      where page.words @@ (${owners}::tsquery && asked.words) and numnode(asked.words) > 0
        ${given.domains.length > 0 ? db`and ${below(db, given.domains)}` : db``}
        ${given.excludeDomains.length > 0 ? db`and not ${below(db, given.excludeDomains)}` : db``}
      limit ${mostRanked}) as found
    order by ts_rank_cd(words, wanted, 1) desc, url limit ${given.limit}`;
}

/** The page is of one of these domains, or of one below. */
const below = (db: Db, domains: readonly string[]): Fragment =>
  db`(host = any(${[...domains]}) or host like any(${domains.map((domain) => `%.${domain.replace(/[\\%_]/g, '\\$&')}`)}))`;

/** Drops what accounts fetched this long ago, some thousands at a time. */
export async function sweepPages(db: Db, clock: Time, days: number): Promise<void> {
  for (;;) {
    const { count } = await db`
      delete from pages.pages where id in (
        select id from pages.pages
        where account_id is not null and fetched_at < ${nowOf(db, clock)} - make_interval(days => ${days}) limit 1000)`;
    if (count === 0) return;
  }
}

/** Takes the operator's pages of an address, or of a host, out of the index and of its line; answers how many in all. */
export async function dropShared(db: Db, what: string): Promise<number> {
  if (/^https?:/i.test(what)) {
    const hash = addressHash(what);
    const pages = await db`
      delete from pages.pages where (address_hash = ${hash} or url_hash = ${hash}) and account_id is null`;
    return pages.count + (await db`delete from pages.queue where address_hash = ${hash}`).count;
  }
  const { hostname: host, port } = new URL(`http://${what}`);
  const pages = await db`delete from pages.pages where host = ${host} and account_id is null`;
  const isHost = port === '' ? db`split_part(host, ':', 1) = ${host}` : db`host = ${`${host}:${port}`}`;
  return pages.count + (await db`delete from pages.queue where ${isHost}`).count;
}
