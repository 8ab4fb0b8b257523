-- Why: a preview is void once the key that made it is. Null: made by the version before, or by the platform.
alter table sandboxes.previews add column key_id uuid;
