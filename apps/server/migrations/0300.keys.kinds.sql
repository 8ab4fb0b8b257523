-- Why: a person who is signed in acts without an API key, and what they ask for may be done later. It has the rights of a row
-- that stands for the person: `person`, one an account, made at the first sign-in, used by nobody as a key. `connection`: the
-- same for an app that the person let in. Neither has a text.
alter table keys.keys add column kind text not null default 'key' check (kind in ('key', 'person', 'connection'));
-- A key that an app was given through a connection; it ends with that.
alter table keys.keys add column connection_id uuid;
create unique index keys_person on keys.keys (account_id) where kind = 'person';
create index keys_connection on keys.keys (connection_id) where connection_id is not null;
