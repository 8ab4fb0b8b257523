-- Why: the first page counts monitors by status, of 10,000 too, and shows those that need a person.
create index monitors_status on heartbeats.monitors (account_id, status);
