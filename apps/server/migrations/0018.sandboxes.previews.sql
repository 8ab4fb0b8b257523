-- Previews are part of the feature sandboxes: one feature, one schema.
alter table previews.previews set schema sandboxes;
drop schema previews;
