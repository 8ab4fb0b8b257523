-- additive
-- Why: a gateway that missed that a browser took its new cookie finds by this which streams the former one may hold.
alter table auth.logins add column taken_at timestamptz;
