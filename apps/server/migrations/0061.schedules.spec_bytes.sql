-- How long a spec is: what a page of schedules, and an account, may take is bounded in bytes. A gateway of the version
-- before leaves it 0.
alter table schedules.schedules add column spec_bytes int not null default 0;
update schedules.schedules set spec_bytes = octet_length(spec::text);
