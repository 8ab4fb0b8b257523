-- additive
-- Why: what a person does with the product's own command line they do themselves; a key tells only which connection it is of.
create view connections.own_view as
  select id from connections.connections where trust = 'first-party';
