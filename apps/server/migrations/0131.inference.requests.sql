-- What finished requests to models took and cost: their receipts. Prices are those of the day of the request.
create schema inference;
create table inference.requests (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  key_id uuid not null,
  trace_id text not null,
  model text not null,
  lane text not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cached_tokens bigint not null,
  cost_micro_usd bigint not null,
  priced boolean not null,
  estimated boolean not null,
  created_at timestamptz not null
);
create index requests_trace on inference.requests (account_id, trace_id, created_at desc);
create index requests_age on inference.requests using brin (created_at);
