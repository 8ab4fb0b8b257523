-- additive
-- Why: an owner by the word of others alone, whom an app of theirs had lowered or taken out, came back at its end as one who
-- had agreed to own. What is not only a role before is kept beside it: `unasked`.
alter table kernel.let_in add column before_note text;
