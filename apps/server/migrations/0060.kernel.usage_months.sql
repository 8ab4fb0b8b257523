-- Usage by month: a month that is past its 90 days is dropped whole. What its keys cost is kept, since a key's spend cap
-- counts from its beginning.
alter table kernel.usage_records rename to usage_records_before;
alter index kernel.usage_records_at rename to usage_records_before_at;
alter index kernel.usage_records_account rename to usage_records_before_account;

create table kernel.usage_records (like kernel.usage_records_before) partition by range (at);
create index usage_records_at on kernel.usage_records using brin (at);
create index usage_records_account on kernel.usage_records (account_id, at);
create index usage_records_cost on kernel.usage_records (account_id, key_id) include (cost_micro_usd)
  where cost_micro_usd > 0;

-- What was written until now, up to the end of its last month.
do $$
declare until timestamptz;
begin
  select date_trunc('month', greatest(now(), max(at)), 'UTC') + interval '1 month'
  into until from kernel.usage_records_before;
  execute format('alter table kernel.usage_records attach partition kernel.usage_records_before
    for values from (minvalue) to (%L)', until);
end $$;
-- Of months that nobody prepared: a platform that was off for long, a clock that is wrong.
create table kernel.usage_records_other partition of kernel.usage_records default;

-- What keys cost in the months that were dropped.
create table kernel.key_spend (
  account_id uuid not null,
  key_id uuid not null,
  cost_micro_usd bigint not null,
  primary key (account_id, key_id)
);
create or replace view kernel.key_spend_view as
  select account_id, key_id, sum(cost_micro_usd)::bigint as cost_micro_usd
  from (
    select account_id, key_id, cost_micro_usd from kernel.usage_records where cost_micro_usd > 0
    union all
    select account_id, key_id, cost_micro_usd from kernel.key_spend
  ) as spent
  group by account_id, key_id;

-- Adds what a part of the records cost to what is kept of dropped months.
create function kernel.keep_spend(part regclass, before timestamptz) returns void language plpgsql as $$
begin
  execute format('
    insert into kernel.key_spend as kept (account_id, key_id, cost_micro_usd)
    select account_id, key_id, sum(cost_micro_usd) from %s where cost_micro_usd > 0 and at < %L group by 1, 2
    on conflict (account_id, key_id)
      do update set cost_micro_usd = kept.cost_micro_usd + excluded.cost_micro_usd', part, before);
end $$;

-- Makes this month and the next two, and drops those that ended before `oldest`. As the tables' owner, since the
-- application makes and drops none. Answers how many it dropped.
create function kernel.keep_usage_months(today timestamptz, oldest timestamptz) returns int
  language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  month timestamptz;
  part record;
  dropped int := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('kernel.usage_months', 0));
  for ahead in 0..2 loop
    month := date_trunc('month', today) + make_interval(months => ahead);
    begin
      execute format('create table if not exists kernel.%I partition of kernel.usage_records for values from (%L) to (%L)',
        'usage_records_' || to_char(month, 'YYYYMM'), month, month + interval '1 month');
    exception
      -- The first part reaches over it, or `usage_records_other` has rows of it: then they stay there.
      when invalid_object_definition or check_violation then null;
    end;
  end loop;
  for part in
    select inhrelid::regclass as name,
      (regexp_match(pg_get_expr(relpartbound, oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz as until
    from pg_catalog.pg_inherits join pg_catalog.pg_class on oid = inhrelid
    where inhparent = 'kernel.usage_records'::regclass
  loop
    if part.until <= oldest then
      execute format('lock table %s in access exclusive mode', part.name);
      perform kernel.keep_spend(part.name, 'infinity');
      execute format('drop table %s', part.name);
      dropped := dropped + 1;
    elsif part.until is null and exists (select from kernel.usage_records_other where at < oldest) then
      lock table kernel.usage_records_other in share row exclusive mode;
      perform kernel.keep_spend(part.name, oldest);
      delete from kernel.usage_records_other where at < oldest;
    end if;
  end loop;
  return dropped;
end $$;
select kernel.keep_usage_months(now(), '-infinity');
