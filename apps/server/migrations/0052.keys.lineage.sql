-- Why: a key that another one made outlived it unseen. Null: made by a command, or by the version before.
alter table keys.keys add column parent_id uuid;
create index keys_parent on keys.keys (parent_id) where parent_id is not null;
