-- additive
-- Why: whoever was made an owner by others got the environment, its quota and its costs when these left, without a
-- word of their
-- own. Such an owner has the rights; the environment goes to nobody who has not agreed. Owners of before have.
alter table environments.members add column is_unasked boolean not null default false;
