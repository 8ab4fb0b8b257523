-- Why: pg-boss ran 17 timetables and nothing else, with a connection, a schema and 17 queues that it asked 10 times a second.
create table kernel.jobs (
  name text primary key,
  cron text not null,
  due_at timestamptz not null,
  -- Tries of this slot that began.
  tries int not null default 0,
  -- Counts changes of hands: a process that lost its lease knows an older number, and changes nothing.
  fence bigint not null default 0,
  -- Null: nobody runs it.
  lease_until timestamptz
);

-- In a database of a URL another program may have a pg-boss: it stays when it holds a queue that is not ours.
do $$ begin
  if to_regclass('pgboss.queue') is null then
    drop schema if exists pgboss;
  elsif not exists (
    select from pgboss.queue where name not like '\_\_pgboss\_\_%'
      and name !~ ('^(accounts|agent|artifacts|audit|health|hosts|inference|kernel|metering|notifications|pages|previews'
        || '|sandboxes|scheduler|schedules)[.]')
  ) then
    drop schema pgboss cascade;
  end if;
exception
  -- It holds something else, or is not ours to drop: nothing reads it.
  when dependent_objects_still_exist or insufficient_privilege then null;
end $$;
