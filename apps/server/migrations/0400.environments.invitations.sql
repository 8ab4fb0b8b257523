-- additive
-- Why: whoever knew an address could make its person a member, and tell them so, as often as they liked. A member of before stays
-- one; somebody new is a row here until they accept, so that nothing that asks for members knows of them.
create table environments.invitations (
  environment_id uuid not null references environments.environments on delete cascade,
  account_id uuid not null,
  -- Null: their account was deleted.
  invited_by uuid,
  role text not null,
  -- As the member will have them, unless another one came first.
  linux_username text not null,
  place int not null,
  created_at timestamptz not null,
  -- Its person said no. The environment sees nothing of that, and cannot ask again for a while.
  declined_at timestamptz,
  -- Declined, and taken back by the environment: nobody sees it.
  withdrawn_at timestamptz,
  primary key (environment_id, account_id)
);
create index invitations_by_account on environments.invitations (account_id, created_at) where declined_at is null;
create index invitations_by_inviter on environments.invitations (invited_by) where invited_by is not null;
