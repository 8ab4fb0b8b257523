-- additive
-- Why: a port that a guest opened to everybody stayed open when they were taken out. `opened_by` is who published it first; this is
-- who let in whom it lets in now. Null: a release before this one published it, and `opened_by` counts.
alter table environments.ports add column published_by uuid;
