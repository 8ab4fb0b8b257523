-- Why: spending counted for each key by itself, so a key whose cap was used up made itself one with a fresh cap. What a key
-- made, and what those made, spends of its cap too.
create function keys.is_spent(of_account uuid, of_key uuid) returns boolean language sql stable as $$
  with recursive above as (
    select k.id, k.parent_id, k.spend_cap_micro_usd as cap from keys.keys k where k.id = of_key
    union
    select k.id, k.parent_id, k.spend_cap_micro_usd from keys.keys k join above a on k.id = a.parent_id
  ), below as (
    select id as top, id from above where cap is not null
    union
    select b.top, k.id from keys.keys k join below b on k.parent_id = b.id
  )
  select exists (
    select from above a
    where a.cap <= (
      select coalesce(sum(s.cost_micro_usd), 0) from below b
        join kernel.key_spend_view s on s.account_id = of_account and s.key_id = b.id
      where b.top = a.id))
$$;
