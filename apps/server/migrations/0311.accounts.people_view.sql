-- Why: the identity provider says whether an address was proved, and writes in the language of the person.
create or replace view accounts.people_view as
  select id, email, name, email_verified_at, locale, tz, created_at from accounts.accounts;
