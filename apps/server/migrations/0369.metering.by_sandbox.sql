-- Why: a sandbox shows what it has cost so far.
create index spans_sandbox on metering.spans (sandbox_id);
