import type { Invariant } from './invariant.ts';

/** Every table with rows of accounts that must go with them; what outlives an account by design is left out. */
const ofAccounts = [
  'agent.sessions',
  'artifacts.artifacts',
  'auth.logins',
  'auth.passkeys',
  'auth.passwords',
  'auth.recovery_codes',
  'connections.connections',
  'devices.devices',
  'environments.environments',
  'environments.invitations',
  'environments.members',
  'heartbeats.badges',
  'heartbeats.monitors',
  'heartbeats.ping_keys',
  'hosts.execs',
  'hosts.invites',
  'inference.stored',
  'keys.keys',
  'notifications.notifications',
  'notifications.preferences',
  'notifications.subscriptions',
  'notifications.webhooks',
  'projects.projects',
  'prompts.prompts',
  'sandboxes.sandboxes',
  'scheduler.hosts',
  'scheduler.runs',
  'schedules.pauses',
  'schedules.schedules',
  'sessions.sessions',
  'transcripts.folders',
  'transcripts.transcripts',
  'transcripts.vocabularies',
  'uploads.uploads',
];

const withoutAccount = ofAccounts
  .map((table) => `select '${table}' as "table", account_id from ${table}`)
  .join(' union all ');

/** Children whose parents no foreign key names. */
const children: readonly (readonly [child: string, column: string, parent: string])[] = [
  ['keys.keys', 'parent_id', 'keys.keys'],
  ['keys.keys', 'connection_id', 'connections.connections'],
  ['connections.connections', 'key_id', 'keys.keys'],
  ['devices.devices', 'sole_key', 'keys.keys'],
  ['prompts.prompts', 'superseded_by', 'prompts.prompts'],
  ['scheduler.runs', 'parent_run_id', 'scheduler.runs'],
  ['sandboxes.previews', 'sandbox_id', 'sandboxes.sandboxes'],
  ['artifacts.artifacts', 'sandbox_id', 'sandboxes.sandboxes'],
  ['sessions.turns', 'session_id', 'sessions.sessions'],
  ['relay.presence', 'environment_id', 'environments.environments'],
  ['transcripts.live', 'transcript_id', 'transcripts.transcripts'],
  ['environments.tokens', 'key_id', 'keys.keys'],
  ['hosts.invites', 'key_id', 'keys.keys'],
];

const withoutParent = children
  .map(
    ([child, column, parent]) => `select '${child}.${column}' as child, ${column}::text as parent from ${child} c
      where ${column} is not null and not exists (select from ${parent} p where p.id = c.${column})`,
  )
  .join(' union all ');

/** Accounts and what is theirs, keys, logins, connections, what they are told. */
export const peopleInvariants: readonly Invariant[] = [
  {
    says: 'what is an account’s has its account',
    sql: `select * from (${withoutAccount}) o
      where not exists (select from accounts.accounts a where a.id = o.account_id)`,
  },
  { says: 'a row has the row that it is of', sql: withoutParent },
  {
    says: 'a connection that ended has no key that works',
    sql: `select c.id, k.id as key_id from connections.connections c join keys.keys k on k.id = c.key_id
      where c.ended_at is not null and k.status = 'active'`,
  },
  {
    says: 'a request with an Idempotency-Key that is over left its answer, or its key free',
    sql: `select route, key, begun from kernel.idempotency where status is null`,
  },
  {
    says: 'an answer that is kept has its bytes',
    sql: `select route, key from kernel.idempotency where status > 0 and not_kept is null and response is null`,
  },
  {
    says: 'a delivery is of one message to one target',
    sql: `select id, channel from notifications.deliveries
      where (notification_id is null) = (mail_id is null)
        or (subscription_id is not null and webhook_id is not null)`,
  },
  {
    says: 'a webhook that is disabled says why or was so by its owner, and none waits for one',
    sql: `select w.id from notifications.webhooks w join notifications.deliveries d on d.webhook_id = w.id
      where not w.enabled`,
  },
  {
    says: 'a login that ended tells no browser any more',
    sql: `select s.id from notifications.subscriptions s join auth.logins l on l.id = s.login_id
      where l.revoked_at is not null`,
  },
  {
    says: 'a link counts once: used, or ended, or neither',
    sql: `select id from auth.links where used_at is not null and ended_at is not null`,
  },
  {
    says: 'an account has no recovery codes, or ten',
    sql: `select account_id, count(*) from auth.recovery_codes group by 1 having count(*) <> 10`,
  },
  {
    says: 'an organisation has a member',
    sql: `select id from orgs.orgs o where not exists (select from orgs.members m where m.org_id = o.id)`,
  },
];
