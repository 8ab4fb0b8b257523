-- additive
-- A terminal on the machine of an environment is a scope of its own for apps. The command line keeps what it had.
update connections.connections set scopes = scopes || '{environments:terminal}'
where trust = 'first-party' and ended_at is null and 'environments' = any(scopes)
  and not 'environments:terminal' = any(scopes);
update keys.keys k set scopes = k.scopes || '{environments:terminal}'
from connections.connections c
where c.id = k.connection_id and c.trust = 'first-party' and k.status <> 'revoked' and 'environments' = any(k.scopes)
  and not 'environments:terminal' = any(k.scopes || k.own_scopes);
