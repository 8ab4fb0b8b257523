-- Sorted hashes of a prompt's words, 4 bytes each: what is compared with a turn in place of the text. Null: of a prompt that was
-- kept before; it is filled when a turn may match. `external`: the first ones are read without the rest.
alter table prompts.words add column hashes bytea;
alter table prompts.words alter column hashes set storage external;
