-- additive
-- Why: deletions of the last day are there still when this release comes.
insert into accounts.deleted (id_hash, deleted_at)
select sha256(convert_to(account_id::text, 'UTF8')), began_at from accounts.deletions
on conflict do nothing;
