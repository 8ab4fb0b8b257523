-- additive
-- Why: strangers may ask for mails to any address. Counting them for an address alone let three requests a minute keep its
-- owner out, and 4,320 mails a day fill the inbox: what was sent is counted for a day, by HMAC of the address and whence.
create table auth.mails (
  hash bytea not null,
  day date not null,
  sent int not null,
  primary key (hash, day)
);
