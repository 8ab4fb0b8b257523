-- Why: a passkey works at the host alone that it was made at; `svc doctor` tells when {auth_url} has another one since.
-- Null: made before this was noted.
alter table auth.passkeys add column rp_id text;
