-- Prompts for a later chat (document 1, Pending prompts).
create schema prompts;
create table prompts.prompts (
  id uuid primary key default gen_random_uuid(),
  -- Of two that match a turn the newer one does.
  order_no bigint generated always as identity,
  account_id uuid not null,
  prompt text not null,
  bytes int not null,
  text_hash bytea not null,
  -- SHA-256 of the first 4,000 UTF-16 units of the normalized text; null for a shorter one.
  prefix_hash bytea,
  source text not null,
  goal_key text,
  not_before timestamptz,
  auto_run boolean not null,
  target_device_id uuid,
  state text not null,
  -- When it is to be reminded of or launched; null: nothing is to be done by itself.
  armed_at timestamptz,
  -- The instant is one that the account is told of.
  reminds boolean not null default false,
  match_ref text,
  match_turn_id text,
  run_session_id uuid,
  report json,
  superseded_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  launched_at timestamptz,
  sent_at timestamptz,
  answered_at timestamptz,
  verified_at timestamptz
);
create unique index prompts_by_text on prompts.prompts (account_id, text_hash);
create index prompts_by_prefix on prompts.prompts (account_id, prefix_hash) where prefix_hash is not null;
create index prompts_of_account on prompts.prompts (account_id, created_at, id);
create index prompts_by_state on prompts.prompts (account_id, state, created_at, id);
create index prompts_by_goal on prompts.prompts (account_id, goal_key) where goal_key is not null;
create index prompts_by_turn on prompts.prompts (match_ref, match_turn_id) where state = 'sent';
create index prompts_armed on prompts.prompts (armed_at) where armed_at is not null;

-- Words of prompts that a turn may match, for the search: a row goes when its prompt is closed. `sketch` has a bit for each
-- word. A table of its own, whose rows are small: a search reads many of them.
create table prompts.words (
  prompt_id uuid primary key references prompts.prompts on delete cascade,
  account_id uuid not null,
  order_no bigint not null,
  total int not null,
  sketch bit(8192) not null,
  -- Bits that are set.
  ones int not null
);
create index words_by_total on prompts.words (account_id, total);
alter table prompts.words alter column sketch set storage plain;
