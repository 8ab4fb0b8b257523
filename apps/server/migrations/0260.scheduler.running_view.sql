-- Why: when the latest run of a schedule was started is read from the run while it runs, so that a claim writes one row. The
-- schedule's own column holds it from the moment on at which the run is over, or waits again.
create view scheduler.running_view as select schedule_id, started_at from scheduler.runs where state = 'running';
