-- Why: a suspended account paid for its snapshots. On hold: the span was ended because its account may not run; the
-- snapshot is still kept, and another span begins once the account may.
alter table metering.spans add column on_hold boolean not null default false;
create index spans_on_hold on metering.spans (sandbox_id) where on_hold;
