-- Why: who made a key, suspended an account or ran something on a host was recorded nowhere. One append-only log for all
-- features; rows leave it in two ways only: past the retention of its setting, and with their account.
create table kernel.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- Null: the act concerns no account.
  account_id uuid,
  who text not null check (who in ('key', 'cli', 'system')),
  key_id uuid,
  -- The address that the request came from.
  address text,
  -- `<feature>.<verb>`, as operations are named.
  action text not null,
  subject text,
  -- No secrets. The writer cuts it to 2 KiB; as text, jsonb adds a space for some of its characters.
  details jsonb not null default '{}' check (octet_length(details::text) <= 4096),
  trace_id text,
  check ((who = 'key') = (key_id is not null))
);
create index audit_account on kernel.audit (account_id, id desc);
create index audit_at on kernel.audit using brin (at);

-- The functions below set `svc.forgets_audit` for their own statement; nothing else does.
create function kernel.keep_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('svc.forgets_audit', true) = 'on' then
    return null;
  end if;
  raise exception '%.% is append-only', tg_table_schema, tg_table_name;
end $$;
create trigger audit_append_only before update or delete or truncate on kernel.audit
  for each statement execute function kernel.keep_audit();

-- Deletes at most `most` rows from before an instant; answers how many.
create function kernel.retire_audit(before timestamptz, most int) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone bigint;
begin
  perform set_config('svc.forgets_audit', 'on', true);
  delete from kernel.audit where id = any (array(
    -- The least that the setting allows: nobody empties the log by naming a later instant.
    select id from kernel.audit where at < least(before, now() - interval '1 day') limit most));
  get diagnostics gone = row_count;
  perform set_config('svc.forgets_audit', 'off', true);
  return gone;
end $$;

-- Deletes at most `most` rows of a deleted account; what tells of the deletion itself stays.
create function kernel.forget_audit(account uuid, most int) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone bigint;
begin
  if not exists (select from accounts.deletions where account_id = account) then
    raise exception 'the account % is not being deleted', account;
  end if;
  perform set_config('svc.forgets_audit', 'on', true);
  delete from kernel.audit where id = any (array(
    select id from kernel.audit where account_id = account and action <> 'accounts.delete' limit most));
  get diagnostics gone = row_count;
  perform set_config('svc.forgets_audit', 'off', true);
  return gone;
end $$;

-- For the feature `audit`.
create view kernel.audit_view as
  select id, at, account_id, who, key_id, address, action, subject, details, trace_id from kernel.audit;
