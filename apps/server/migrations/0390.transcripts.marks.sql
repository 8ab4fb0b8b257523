-- additive
-- Why: a search compared each of its words with each name that an account's recordings say: 32 words and 100,000 names took
-- 9.5 s of the database. Two names that are alike by 0.45 share one of the first n - ceil(0.45 n) + 1 of their n trigrams, in
-- any order that both have. These marks are such trigrams, each together with the owner: an index of them finds the few
-- names of one account that are worth comparing, and reads no other account's.
create function transcripts.name_marks(owner uuid, name text) returns int[]
  language sql immutable strict parallel safe cost 1000 as $$
  select array(
    select hashtext(owner::text || mark) as mark from unnest(public.show_trgm(name)) mark order by 1
    limit cardinality(public.show_trgm(name)) - ceil(0.45 * cardinality(public.show_trgm(name)))::int + 1)
$$;
