-- A row for each launch of a prompt: which control of which session it is, which device has it, and what became of it.
create table prompts.runs (
  id uuid primary key default gen_random_uuid(),
  order_no bigint generated always as identity,
  prompt_id uuid not null references prompts.prompts on delete cascade,
  account_id uuid not null,
  session_id uuid not null unique,
  control_id uuid not null unique,
  -- Null: the next desktop or Android device of the account takes it.
  device_id uuid,
  -- The key that launched it; null: the prompt launched itself.
  key_id uuid,
  state text not null,
  turn_id text,
  -- { ok, exit_code?, error? }
  outcome json,
  created_at timestamptz not null,
  taken_at timestamptz,
  begun_at timestamptz,
  ended_at timestamptz
);
create index runs_of_prompt on prompts.runs (prompt_id, order_no);
create index runs_of_account on prompts.runs (account_id);
-- What the last turn of a launch, or of a match, came to.
alter table prompts.prompts add column last_turn json;
