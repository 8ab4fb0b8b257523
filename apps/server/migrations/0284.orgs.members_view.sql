-- Why: projects and published ports ask who is in an organisation.
create view orgs.members_view as
select org_id, account_id, role from orgs.members;
