-- Pages that were fetched, and what the operator feeds into the index (design: tools).
create schema pages;
create table pages.pages (
  id bigint generated always as identity primary key,
  -- Whose it is. Null: the operator's, which every account may find.
  account_id uuid,
  -- What was asked for, without tracking, and its SHA-256.
  address text not null,
  address_hash bytea not null,
  -- After redirects, without tracking, and its SHA-256.
  url text not null,
  url_hash bytea not null,
  host text not null,
  title text not null,
  byline text not null,
  description text not null,
  canonical text not null,
  lang text not null,
  content_type text not null,
  published_at text not null,
  -- Gzipped JSON: the content's blocks, and the text that a reader sees.
  blocks bytea not null,
  visible bytea not null,
  -- The server's answer went on after 3 MB.
  truncated boolean not null,
  bytes int not null,
  etag text not null,
  last_modified text not null,
  -- Null: the page asks not to be indexed.
  words tsvector,
  fetched_at timestamptz not null,
  unique nulls not distinct (account_id, address_hash)
);
create index pages_by_url on pages.pages (url_hash);
create index pages_by_age on pages.pages (account_id, fetched_at);
create index pages_by_words on pages.pages using gin (words) with (fastupdate = off);

-- What the operator asked to index and is not fetched as yet, and shared pages that are to be looked at again.
create table pages.queue (
  address_hash bytea primary key,
  url text not null,
  host text not null,
  kind text not null check (kind in ('page', 'sitemap')),
  -- Sitemaps within sitemaps.
  depth int not null,
  attempts int not null default 0,
  due_at timestamptz not null,
  -- A crawler has it until then.
  leased_until timestamptz,
  -- Why the last attempt failed.
  error text,
  added_at timestamptz not null
);
create index queue_by_host on pages.queue (host, due_at);

-- One row a site that is crawled: when it may be asked next, and its robots.txt.
create table pages.hosts (
  host text primary key,
  next_at timestamptz not null,
  robots text,
  robots_at timestamptz
);
