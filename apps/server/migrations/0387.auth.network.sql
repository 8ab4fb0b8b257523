-- additive
-- Why: a full table of challenges refused everybody, strangers and people alike. With the network that asked, the one that holds
-- most makes room. Records have `address` already, which open sign-ins fill from now on.
alter table auth.challenges add column network text;
