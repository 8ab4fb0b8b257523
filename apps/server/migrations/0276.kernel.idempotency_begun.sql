-- Whether a transaction of the request was committed: it writes this itself, in its last statement. Of a request whose gateway
-- died, or whose connection broke at the commit, nobody knew that, and a repeat did it again.
alter table kernel.idempotency add column begun boolean not null default false;

-- Notes it. Fails when another gateway has taken the request over, and with it the transaction: of two only one is committed.
create function kernel.begin_once(account uuid, of text, under text, gateway uuid) returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update kernel.idempotency set begun = true
    where account_id = account and route = of and key = under and gateway_id = gateway and status is null;
  if not found then
    raise exception 'another gateway took this request over' using errcode = 'serialization_failure';
  end if;
end $$;
