import type { Invariant } from './invariant.ts';

/** Wallets, reservations, metered time, sandboxes and environments. */
export const moneyInvariants: readonly Invariant[] = [
  {
    says: 'no wallet is below zero',
    sql: `select account_id, sum(amount_micro_eur) from wallet.ledger group by 1 having sum(amount_micro_eur) < 0`,
  },
  {
    says: 'time of sandboxes that is paid has one entry in the ledger, of what it cost',
    sql: `select b.account_id, b.starts_at, b.charge_micro_eur, l.amount_micro_eur from metering.buckets b
      left join wallet.ledger l on l.account_id = b.account_id
        and split_part(l.source_key, ':', 1) = 'sandbox_charge'
        and substr(l.source_key, length('sandbox_charge:' || b.account_id) + 2)::timestamptz = b.starts_at
      where b.paid_at is not null and b.charge_micro_eur > 0
        and l.amount_micro_eur is distinct from -b.charge_micro_eur`,
  },
  {
    says: 'an entry in the ledger for time of sandboxes has its bucket, paid',
    sql: `select l.id from wallet.ledger l where split_part(l.source_key, ':', 1) = 'sandbox_charge' and not exists
      (select from metering.buckets b where b.account_id = l.account_id and b.paid_at is not null
        and b.charge_micro_eur = -l.amount_micro_eur)`,
  },
  {
    says: 'hours of an environment that are paid have an entry in the ledger',
    sql: `select h.environment_id, h.starts_at from environments.hours h
      where h.paid_at is not null and h.charged_micro_eur > 0 and not exists (select from wallet.ledger l
        where l.account_id = h.account_id and l.amount_micro_eur = -h.charged_micro_eur
          and l.source_key like 'environment_charge:' || h.environment_id || ':%')`,
  },
  {
    says: 'no reservation of a key stands without a request',
    sql: `select id, key_id, cost_micro_usd, lease_until from keys.reservations`,
  },
  {
    says: 'what a transcript was charged for is reserved or charged, once',
    sql: `select id from transcripts.transcripts t where state in ('queued', 'transcribing')
      and not exists (select from transcripts.charges c where c.transcript_id = t.id)`,
  },
  {
    says: 'a sandbox has the span that its state costs, and one at most',
    sql: `select s.id, s.state, count(m.id) from sandboxes.sandboxes s
      left join metering.spans m on m.sandbox_id = s.id and m.ended_at is null and m.kind in ('running', 'paused')
      group by s.id having count(m.id) > 1
        or (count(m.id) = 1) <> (s.backend = 'v2' and s.state in ('running', 'pausing', 'paused', 'resuming'))
        or bool_or(m.kind = 'paused') <> (s.state in ('paused', 'resuming'))`,
  },
  {
    says: 'who is busy in a sandbox is so until an instant',
    sql: `select id from sandboxes.sandboxes where (busy_by is null) <> (busy_until is null)`,
  },
  {
    says: 'an environment that is gone has neither secrets nor members nor keys of machines',
    sql: `select id from environments.environments e where state = 'destroyed' and
      (exists (select from environments.secrets s where s.environment_id = e.id)
        or exists (select from environments.machine_keys k where k.environment_id = e.id))`,
  },
  {
    says: 'the key of a machine is there',
    sql: `select k.environment_id, k.key_id from environments.machine_keys k
      where not exists (select from keys.keys a where a.id = k.key_id and a.account_id = k.account_id)`,
  },
  {
    says: 'an environment is its owner’s, whose member it has',
    sql: `select id, state from environments.environments e where state <> 'destroyed' and not exists
      (select from environments.members m where m.environment_id = e.id and m.account_id = e.account_id)`,
  },
  {
    says: 'time of an environment is counted while it runs, and not else',
    sql: `select e.id, e.state, m.counted_until from environments.environments e
      join environments.meters m on m.environment_id = e.id
      where m.counted_until is not null and e.state in ('pending', 'stopped', 'archived', 'destroyed')`,
  },
  {
    says: 'a machine at a provider is of an environment that is there',
    sql: `select environment_id from clouds.machines m
      where not exists (select from environments.environments e where e.id = m.environment_id)`,
  },
  {
    says: 'an environment has its project',
    sql: `select id from environments.environments e where state <> 'destroyed'
      and not exists (select from projects.projects p where p.id = e.project_id)`,
  },
  {
    says: 'a machine at a provider that somebody looks at is so until an instant',
    sql: `select environment_id from clouds.machines where (leased_by is null) <> (leased_until is null)`,
  },
];
