-- Memory of user code that a sandbox was made with, MiB: what an account's running sandboxes have together is a quota.
-- The default is for rows of the version before.
alter table sandboxes.sandboxes add column memory_mb integer not null default 1024;
