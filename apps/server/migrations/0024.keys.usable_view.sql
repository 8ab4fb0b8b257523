-- Why: what a key handed out, such as the address of a preview, must not outlive it.
create view keys.usable_view as
  select id, account_id from keys.keys where status = 'active' and (expires_at is null or expires_at > now());
