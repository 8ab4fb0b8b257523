-- Why: due schedules are dealt by account in turn, and what an account's timetables ask for in a minute is bounded.
alter table schedules.schedules add column slots_per_minute double precision not null default 0;
update schedules.schedules set slots_per_minute =
  (cardinality(slots) - 1) * 60 / greatest(extract(epoch from slots[cardinality(slots)] - slots[1]), 1)
  where cardinality(slots) > 1;
