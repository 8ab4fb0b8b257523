-- Why: header values of http schedules, often keys of other services, stood in clear in `spec` and were answered to every
-- key that may read. `spec` keeps their names, with `***` for each value; the values are sealed here, for runs too.
--
-- A gateway of the version before works on beside this one, except that it sends `***` in place of the values: of
-- schedules made or changed by a gateway of this version it runs no webhook properly, and a host that claims from it gets
-- `***`. What it writes itself is in clear, and is read here as it is. Rows of before are sealed by a job of the night, so
-- that an upgrade of one gateway after the other has the day for it, or at their next change.
alter table schedules.schedules add column sealed_headers bytea;
alter table scheduler.runs add column sealed_headers bytea;
