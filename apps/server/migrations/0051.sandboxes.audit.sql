-- Why: sandboxes write to kernel.audit from now on. Old rows stay here until their time or their account ends; a gateway of
-- the version before goes on writing here.
create or replace function sandboxes.refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('svc.forgets_audit', true) = 'on' then
    return null;
  end if;
  raise exception 'sandboxes.audit is append-only';
end $$;

-- Deletes at most `most` rows: of an account, or from before an instant.
create function sandboxes.forget_audit(account uuid, before timestamptz, most int) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone bigint;
begin
  if account is not null and not exists (select from accounts.deletions where account_id = account) then
    raise exception 'the account % is not being deleted', account;
  end if;
  perform set_config('svc.forgets_audit', 'on', true);
  delete from sandboxes.audit where id = any (array(
    select id from sandboxes.audit where account_id = account or at < least(before, now() - interval '1 day') limit most));
  get diagnostics gone = row_count;
  perform set_config('svc.forgets_audit', 'off', true);
  return gone;
end $$;
