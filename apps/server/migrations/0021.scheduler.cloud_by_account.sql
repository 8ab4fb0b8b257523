-- Why: runs of the cloud are dealt by account in turn, so the oldest of each account are looked up.
create index runs_cloud_of_account on scheduler.runs (account_id, scheduled_for, id)
  where state = 'pending' and pool = 'cloud';
