-- Further hosts whose pages a sitemap may list (`svc index add --also-host`).
alter table pages.queue add column also_hosts text[] not null default '{}';
