-- Why: a recording comes over a phone's connection in many pieces. Each piece is a blob; its row and the new offset are one
-- statement, so the offset never counts a byte that is not on disk.
create schema uploads;

create table uploads.uploads (
  id uuid primary key,
  account_id uuid not null,
  length bigint not null,
  -- Bytes that are stored.
  at bigint not null default 0,
  -- `Upload-Metadata` as it came.
  metadata text not null,
  -- SHA-256 of the whole, as the client gave it.
  sha256 bytea,
  -- Counts the requests that wrote: the newest one is the writer, and what an older one brings is not taken.
  writes bigint not null default 0,
  -- The writer has not ended yet, as far as is known.
  is_written boolean not null default false,
  created_at timestamptz not null,
  completed_at timestamptz,
  -- Null once a transcript has it.
  expires_at timestamptz,
  transcript_id uuid
);
create index uploads_account on uploads.uploads (account_id) include (length) where transcript_id is null;
create index uploads_transcript on uploads.uploads (transcript_id) where transcript_id is not null;
create index uploads_expires on uploads.uploads (expires_at) where expires_at is not null;

create table uploads.parts (
  upload_id uuid not null references uploads.uploads on delete cascade,
  start bigint not null,
  -- Of the blob `uploads/<account>/<upload>/<start>-<token>`.
  token uuid not null,
  -- Null while its request brings it, or died while it did.
  bytes bigint,
  created_at timestamptz not null,
  primary key (upload_id, start, token)
);
create index parts_begun on uploads.parts (created_at) where bytes is null;
