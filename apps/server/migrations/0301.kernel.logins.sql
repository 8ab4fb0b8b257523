-- Why: a signed-in browser (a login) acts too, and whose act a line is must be seen.
alter table kernel.audit add column login_id uuid;
alter table kernel.audit drop constraint audit_who_check;
alter table kernel.audit add constraint audit_who_check check (who in ('key', 'login', 'cli', 'system'));
alter table kernel.audit add constraint audit_login check ((who = 'login') = (login_id is not null));
create or replace view kernel.audit_view as
  select id, at, account_id, who, key_id, address, action, subject, details, trace_id, login_id from kernel.audit;
alter table kernel.usage_records add column login_id uuid;
