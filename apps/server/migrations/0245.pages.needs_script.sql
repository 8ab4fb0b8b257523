-- The page shows nothing without its script, and holds its text nowhere else.
alter table pages.pages add column needs_script boolean not null default false;
