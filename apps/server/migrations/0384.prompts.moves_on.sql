-- additive
-- Why: a launch waited for ever for a device that never came, and nobody was told. After two minutes its owner is, and one
-- that was given its device by the platform goes on to another.
alter table prompts.runs add column moves_on boolean not null default false, add column waiting_told_at timestamptz;
