-- Why: machines are shown in one list, with what they take of schedules.
create view scheduler.hosts_view as
select h.account_id, h.device_id, h.name, coalesce(h.tags, h.reported_tags) as tags, h.kinds, h.paused, h.max_parallel,
  h.last_seen
from scheduler.hosts h;
create view scheduler.holders_view as
select account_id, holder_id as device_id from scheduler.runs where state = 'running' and holder_id is not null;
