-- Previews are part of the feature sandboxes: one feature, one schema. The view is for gateways of the version before,
-- which may run beside this one while an upgrade goes from one to the next.
alter table previews.previews set schema sandboxes;
create view previews.previews as select * from sandboxes.previews;
