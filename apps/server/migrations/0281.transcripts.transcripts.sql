-- Why: recordings, what was said in them, and every step of their processing as a row: each is taken by lease, done once, and
-- goes on after its gateway was killed.
create schema transcripts;
create extension if not exists unaccent;
create extension if not exists pg_trgm;

-- Words in the forms of both languages that meetings here are held in, whatever diacritics were written.
create text search configuration transcripts.ro (copy = pg_catalog.romanian);
alter text search configuration transcripts.ro alter mapping for hword, hword_part, word with unaccent, romanian_stem;
create text search configuration transcripts.en (copy = pg_catalog.english);
alter text search configuration transcripts.en alter mapping for hword, hword_part, word with unaccent, english_stem;

create table transcripts.folders (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  name text not null,
  color text,
  parent_id uuid references transcripts.folders on delete set null,
  position int not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index folders_list on transcripts.folders (account_id, created_at desc, id desc);

create table transcripts.transcripts (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  client_id text,
  source text not null,
  -- As a person set it; null: that of the insights, or a date.
  title text,
  language text,
  heard_language text,
  state text not null,
  -- Counts transcriptions and analyses: steps of an older one are not this one's.
  generation int not null default 0,
  started_at timestamptz not null,
  duration_ms int,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  error text,
  consent text,
  folder_id uuid references transcripts.folders on delete set null,
  tags text[] not null default '{}',
  pinned_at timestamptz,
  preview_text text,
  -- Of the body that finalized it.
  finalize_hash bytea,
  finalized_at timestamptz,
  -- The key that finalized it, or asked for it anew: models are asked with its rights.
  key_id uuid,
  audio_expires_at timestamptz,
  audio_purged_at timestamptz,
  degraded text[] not null default '{}',
  edits_lost int not null default 0,
  insights jsonb,
  insights_stale boolean not null default false,
  -- Micro-USD that its models and its speech took.
  cost_micro_usd bigint not null default 0,
  -- Bytes of text that it takes, about.
  bytes bigint not null default 0
);
create unique index transcripts_client on transcripts.transcripts (account_id, client_id) where client_id is not null;
create index transcripts_list on transcripts.transcripts (account_id, created_at desc, id desc) include (bytes);
create index transcripts_folder on transcripts.transcripts (folder_id) where folder_id is not null;
create index transcripts_purge on transcripts.transcripts (audio_expires_at) where audio_purged_at is null and audio_expires_at is not null;

create table transcripts.tracks (
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  track text not null,
  upload_id uuid not null,
  bytes bigint not null,
  content_type text not null,
  duration_ms int not null,
  -- The bytes of the upload are one blob now: `audio/<account>/<transcript>/<track>`.
  is_joined boolean not null default false,
  primary key (transcript_id, track)
);
create index tracks_account on transcripts.tracks (account_id) include (bytes);

create table transcripts.steps (
  id uuid primary key default gen_random_uuid(),
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  generation int not null,
  kind text not null,
  track text,
  n int not null default 0,
  -- Of a window: `{ window }` of `@svc/speech`.
  given jsonb,
  state text not null,
  -- Counts how often it was taken: the fence of its result.
  attempt int not null default 0,
  -- Counts the tries that failed.
  tries int not null default 0,
  due_at timestamptz not null,
  lease_until timestamptz,
  gateway_id uuid,
  last_error text,
  -- Gzipped JSON.
  result bytea,
  cost_micro_usd bigint not null default 0,
  created_at timestamptz not null,
  finished_at timestamptz
);
create unique index steps_one on transcripts.steps (transcript_id, generation, kind, coalesce(track, ''), n);
create index steps_due on transcripts.steps (kind, due_at) where state = 'waiting';
create index steps_running on transcripts.steps (lease_until) where state = 'running';
create index steps_account on transcripts.steps (account_id);

create table transcripts.utterances (
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  seq int not null,
  account_id uuid not null,
  speaker text not null,
  -- Who was heard, where a person says that it was somebody else.
  heard_speaker text,
  track text not null,
  start_ms int not null,
  end_ms int not null,
  text text not null,
  original_text text,
  edited_at timestamptz,
  confidence real,
  language text,
  -- With the owner's word, so that one account's search reads its own rows only.
  words tsvector not null,
  primary key (transcript_id, seq)
);
create index utterances_words on transcripts.utterances using gin (words);
create index utterances_account on transcripts.utterances (account_id);

-- Words with their times: 30,000 in three hours, so they lie gzipped, a row a minute.
create table transcripts.words (
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  minute int not null,
  packed bytea not null,
  primary key (transcript_id, minute)
);
create index words_account on transcripts.words (account_id);

create table transcripts.speakers (
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  label text not null,
  name text,
  is_self boolean not null default false,
  talk_ms int not null default 0,
  utterance_count int not null default 0,
  primary key (transcript_id, label)
);
create index speakers_account on transcripts.speakers (account_id);

-- Names that were said, folded, for searches that misspell them.
create table transcripts.names (
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  name text not null,
  seqs int[] not null,
  primary key (transcript_id, name)
);
create index names_account on transcripts.names (account_id, name);

create table transcripts.bookmarks (
  id uuid primary key default gen_random_uuid(),
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  at_ms int not null,
  note text,
  created_at timestamptz not null
);
create index bookmarks_transcript on transcripts.bookmarks (transcript_id, at_ms);
create index bookmarks_account on transcripts.bookmarks (account_id);

create table transcripts.shares (
  id uuid primary key default gen_random_uuid(),
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  -- SHA-256 of the token; the token itself is shown once and kept nowhere.
  token_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_viewed_at timestamptz,
  views bigint not null default 0
);
create index shares_transcript on transcripts.shares (transcript_id, created_at desc, id desc);
create index shares_account on transcripts.shares (account_id);

create table transcripts.vocabularies (
  account_id uuid primary key,
  entries jsonb not null,
  updated_at timestamptz not null
);

-- Minutes of the allowance: reserved when a recording is finalized, charged once when it was transcribed. A row outlives its
-- transcript, as deleting one gives no minutes back.
create table transcripts.charges (
  transcript_id uuid primary key,
  account_id uuid not null,
  ms int not null,
  reserved_at timestamptz not null,
  charged_at timestamptz
);
create index charges_account on transcripts.charges (account_id, reserved_at);

create table transcripts.vectors (
  transcript_id uuid not null references transcripts.transcripts on delete cascade,
  account_id uuid not null,
  seq int not null,
  to_seq int not null,
  model text not null,
  -- The signs of the vector, and its numbers as bytes of -127 to 127.
  bits bit varying not null,
  bytes bytea not null,
  primary key (transcript_id, seq)
);
create index vectors_account on transcripts.vectors (account_id, model);

-- When the last caption frame came: two gateways agree on 250 ms. Lost with the server, as frames are.
create unlogged table transcripts.live (
  transcript_id uuid primary key,
  account_id uuid not null,
  at timestamptz not null
);
create index live_at on transcripts.live (at);
