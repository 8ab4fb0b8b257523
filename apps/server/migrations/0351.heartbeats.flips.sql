-- Why: people group monitors by words, pause one until an instant, and ask how it was in the last weeks.
alter table heartbeats.monitors
  add column tags text[] not null default '{}',
  -- While paused: when it goes on by itself. Apart from `deadline`, which a gateway of the version before empties.
  add column paused_until timestamptz,
  add column down_since timestamptz,
  -- Rows written to `flips`.
  add column flip_seq bigint not null default 0,
  -- Nothing is known of its states before this: monitors that are there begin now.
  add column known_since timestamptz not null default now();
create index monitors_paused_until on heartbeats.monitors (paused_until) where paused_until is not null;

-- Each change of status as people see it, for 100 days: the last 1,000 of each monitor, and up to 100 more until they are
-- trimmed. `late` is stored nowhere else, so its two ends are written once it is over.
create table heartbeats.flips (
  monitor_id uuid not null references heartbeats.monitors (id) on delete cascade,
  seq bigint not null,
  at timestamptz not null,
  was text not null,
  became text not null,
  primary key (monitor_id, seq)
);
create index flips_at on heartbeats.flips (at);
