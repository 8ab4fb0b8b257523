-- Why: an app that connects again from one device gets another key in place of its old one.
alter table keys.keys add column connected_device uuid;
-- The key that this one was made for in its place: revoked when this one is used first.
alter table keys.keys add column replaces uuid;
