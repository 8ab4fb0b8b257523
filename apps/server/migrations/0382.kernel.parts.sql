-- additive
-- Why: a worker that died or hangs was noticed by nobody. A lease says what its process is for, and when its tickers
-- turned last: a process whose timers live while its tickers stand does not count as a worker. Both null: a process of
-- the release before, which may be one.
alter table kernel.gateways add column part text, add column worked_at timestamptz;
