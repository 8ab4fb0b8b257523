-- The feed: what happened to each account, in one order. A row is written by the transaction that it tells of, and is read
-- once no transaction can add a row before it (`kernel.feed_horizon`). A partition a day; a day that is past its week is
-- dropped whole.
create sequence kernel.changes_seq as bigint;
create table kernel.changes (
  account_id uuid not null,
  -- Order of the feed: by transaction, then within it.
  xid xid8 not null default pg_current_xact_id(),
  seq bigint not null default nextval('kernel.changes_seq'),
  topic text not null,
  op text not null check (op in ('created', 'updated', 'deleted')),
  subject text not null,
  at timestamptz not null default now(),
  -- The record as the API shows it, in the order of its fields; null: too long, or gone.
  body json
) partition by range (at);
alter sequence kernel.changes_seq owned by kernel.changes.seq;
create index changes_order on kernel.changes (account_id, xid, seq);
-- Of days that nobody prepared: a platform that was off for long, a clock that is wrong.
create table kernel.changes_other partition of kernel.changes default;

-- The last change of an account that is kept no more: a cursor before it is too old.
create table kernel.change_floors (
  account_id uuid primary key,
  xid xid8 not null,
  seq bigint not null
);

-- Every transaction with a lower id is over, so no row can appear below it any more. Transactions of the server's other
-- databases are over as far as these rows go; one that is listed under no process (it was prepared, or ended this instant)
-- counts as ours.
create function kernel.feed_horizon() returns xid8
  -- plpgsql keeps the plan for the session: as SQL it is planned at each call.
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_running constant pg_snapshot := pg_current_snapshot();
  oldest xid8;
begin
  if pg_snapshot_xmin(now_running) < pg_snapshot_xmax(now_running) then
    select x into oldest from pg_snapshot_xip(now_running) as running (x)
    where not exists (
      -- The function under pg_stat_activity: the view asks for the names of databases and roles too.
      select from pg_stat_get_activity(null) a
      where a.backend_xid = x::xid and a.datid <> (select oid from pg_database where datname = current_database()))
    order by x limit 1;
  end if;
  return coalesce(oldest, pg_snapshot_xmax(now_running));
end $$;

-- The next changes of an account in their order. Without its settings a planner that knows nothing of the table yet sorts all
-- that an account has for each page of a replay.
create function kernel.next_changes(of uuid, after_xid xid8, after_seq bigint, most int)
  returns setof kernel.changes
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_sort = off set enable_bitmapscan = off
  set enable_seqscan = off as $$
begin
  return query select c.* from kernel.changes c
    where c.account_id = of and (c.xid, c.seq) > (after_xid, after_seq) order by c.xid, c.seq limit most;
end $$;

-- Who holds the horizon: the oldest transaction of this database that has written something.
create function kernel.feed_holder() returns table (pid int, name text, seconds float8)
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.pid, concat_ws(' ', a.usename, nullif(trim(a.application_name), ''), a.state),
    extract(epoch from clock_timestamp() - a.xact_start)::float8
  from pg_stat_activity a
  where a.backend_xid is not null and a.pid <> pg_backend_pid()
    and a.datid = (select oid from pg_database where datname = current_database())
  order by a.xact_start limit 1
$$;

-- Notes what goes with a part of the changes, whole or up to an instant.
create function kernel.raise_change_floors(part regclass, before timestamptz) returns void language plpgsql as $$
begin
  execute format('
    insert into kernel.change_floors as f (account_id, xid, seq)
    select distinct on (account_id) account_id, xid, seq from %s where at < %L order by account_id, xid desc, seq desc
    on conflict (account_id) do update set xid = excluded.xid, seq = excluded.seq
      where (f.xid, f.seq) < (excluded.xid, excluded.seq)', part, before);
end $$;

-- Makes today and the next two days, and drops those that ended before `oldest`. As the tables' owner, since the application
-- makes and drops none. Answers how many it dropped.
create function kernel.keep_change_days(today timestamptz, oldest timestamptz) returns int
  language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  day timestamptz;
  part record;
  dropped int := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('kernel.change_days', 0));
  for ahead in 0..2 loop
    day := date_trunc('day', today) + make_interval(days => ahead);
    begin
      execute format('create table if not exists kernel.%I partition of kernel.changes for values from (%L) to (%L)',
        'changes_' || to_char(day, 'YYYYMMDD'), day, day + interval '1 day');
    exception
      -- `changes_other` has rows of it: then they stay there.
      when check_violation then null;
    end;
  end loop;
  for part in
    select inhrelid::regclass as name,
      (regexp_match(pg_get_expr(relpartbound, oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz as until
    from pg_catalog.pg_inherits join pg_catalog.pg_class on oid = inhrelid
    where inhparent = 'kernel.changes'::regclass
  loop
    if part.until <= oldest then
      execute format('lock table %s in access exclusive mode', part.name);
      perform kernel.raise_change_floors(part.name, 'infinity');
      execute format('drop table %s', part.name);
      dropped := dropped + 1;
    elsif part.until is null and exists (select from kernel.changes_other where at < oldest) then
      lock table kernel.changes_other in share row exclusive mode;
      perform kernel.raise_change_floors(part.name, oldest);
      delete from kernel.changes_other where at < oldest;
    end if;
  end loop;
  return dropped;
end $$;
select kernel.keep_change_days(now(), '-infinity');
