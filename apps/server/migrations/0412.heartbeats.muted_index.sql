-- additive, concurrently
-- Why: as 0411.heartbeats.muted.sql; the ends of silences are looked for each second.
create index concurrently monitors_muted_until on heartbeats.monitors (muted_until) where muted_until is not null;
