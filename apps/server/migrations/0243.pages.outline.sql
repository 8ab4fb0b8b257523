-- For each line of a page's visible text the lines that say what it is, as gzipped JSON. Null: a page that was kept before.
alter table pages.pages add column outline bytea;
