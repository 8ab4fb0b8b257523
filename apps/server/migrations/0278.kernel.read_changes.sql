-- The next changes of several accounts (`feed.store.ts`). A function: its plan is made once a session and kept, where the
-- statement by itself was planned at each read, 0.38 ms of 0.55.
--
-- Reads `look_at` changes at most of each account, after its place (`xids`, `seqs`). Answers the changes of the `topics` (null: all)
-- that fit into `most` changes and `page_bytes` of records, the last change that was looked at, and the first that did not fit.
create function kernel.read_changes(
  accounts uuid[], xids text[], seqs text[], topics text[], page_bytes bigint, most int, look_at int)
  returns table (account_id uuid, xid text, seq bigint, topic text, op text, subject text, at timestamptz,
    settled boolean, fits boolean, asked boolean, is_last boolean, cut boolean, record text)
  language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
    select w.account_id, c.xid::text, c.seq, c.topic, c.op, c.subject, c.at, c.settled, c.fits, c.asked,
      c.looked = look_at and c.next_fits is null, coalesce((f.xid, f.seq) > (w.xid::xid8, w.seq::bigint), false),
      case when c.fits and c.asked then c.body::text end
    from unnest(accounts, xids, seqs) as w (account_id, xid, seq)
    left join kernel.change_floors f on f.account_id = w.account_id
    cross join lateral (
      select s.*, lag(s.fits) over (order by s.xid, s.seq) as last_fits, lead(s.fits) over (order by s.xid, s.seq) as next_fits
      from (
        select r.*, count(*) over () as looked, r.settled
          and coalesce(sum(r.bytes) over before, 0) < page_bytes and coalesce(sum(r.asked::int) over before, 0) < most as fits
        from (
          select n.*, n.xid < (select kernel.feed_horizon()) as settled,
            a.asked, case when a.asked then octet_length(n.body::text) else 0 end as bytes
          from kernel.next_changes(w.account_id, w.xid::xid8, w.seq::bigint, look_at) n,
            lateral (select topics is null or n.topic = any(topics) as asked) a
        ) r
        window before as (order by r.xid, r.seq rows between unbounded preceding and 1 preceding)
      ) s
    ) c
    where case when c.fits then c.asked or c.next_fits is distinct from true else c.last_fits is distinct from false end
    order by w.account_id, c.xid, c.seq;
end $$;
