-- Why: members of an environment are shown to each other by address and name.
create view accounts.people_view as
select id, email, name from accounts.accounts;
