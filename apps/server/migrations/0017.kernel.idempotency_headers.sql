-- An answer may set headers; a repeat of its request gets the same ones.
alter table kernel.idempotency add column headers json;
