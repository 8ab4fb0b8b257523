-- What requests that are under way may cost: a key's spend cap counts it, so that many at once do not pass the cap
-- together. A gateway that is killed renews none of its rows, and they count no more.
create table keys.reservations (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  key_id uuid not null,
  cost_micro_usd bigint not null,
  lease_until timestamptz not null
);
create index reservations_key on keys.reservations (account_id, key_id);
create index reservations_lease on keys.reservations (lease_until);

-- What is left for a key: the least that its own cap, or one of the keys above it, leaves. Null without a cap.
create function keys.spend_left(of_account uuid, of_key uuid, at timestamptz) returns bigint language sql stable as $$
  with recursive above as (
    select k.id, k.parent_id, k.spend_cap_micro_usd as cap from keys.keys k where k.id = of_key
    union
    select k.id, k.parent_id, k.spend_cap_micro_usd from keys.keys k join above a on k.id = a.parent_id
  ), below as (
    select id as top, id from above where cap is not null
    union
    select b.top, k.id from keys.keys k join below b on k.parent_id = b.id
  )
  select min(a.cap
    - (select coalesce(sum(s.cost_micro_usd), 0) from below b
        join kernel.key_spend_view s on s.account_id = of_account and s.key_id = b.id where b.top = a.id)
    - (select coalesce(sum(r.cost_micro_usd), 0) from below b
        join keys.reservations r on r.account_id = of_account and r.key_id = b.id
        where b.top = a.id and r.lease_until > at))::bigint
  from above a where a.cap is not null
$$;
