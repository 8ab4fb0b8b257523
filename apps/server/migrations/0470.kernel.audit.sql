-- additive
-- Why: an act in an account of others, such as a port that a member publishes, named a key or a browser and no person.
-- The account that acted, where it is another than the one whose log this is.
alter table kernel.audit add column by_account_id uuid;
create or replace view kernel.audit_view as
  select id, at, account_id, who, key_id, address, action, subject, details, trace_id, login_id, by_account_id from kernel.audit;
