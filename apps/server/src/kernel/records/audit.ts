import { createBatches } from '../work/batches.ts';
import type { Clock } from '../base/clock.ts';
import type { Db, Fragment, Sql } from '../db/db.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';

/** Where a request came from. */
interface From {
  /** The account that asked. */
  readonly accountId?: string;
  readonly address?: string;
  readonly traceId?: string;
}

/** Who acts: a key or a signed-in browser in a request, somebody at the machine with a command, or the platform by itself. */
export type Who =
  | ({ readonly kind: 'key'; readonly keyId: string } & From)
  | ({ readonly kind: 'login'; readonly loginId: string } & From)
  | { readonly kind: 'cli' }
  | { readonly kind: 'system' };

/** A line of the audit log. */
export interface Act {
  /** Null: it concerns no account. */
  accountId: string | null;
  by: Who;
  /** `<feature>.<verb>`; an operation's is its `operationId`. */
  action: string;
  /** Id of what was acted on. */
  subject?: string | undefined;
  /** Small and without secrets; cut to 2 KiB. */
  details?: object | undefined;
}

/** A command of the CLI. */
export const byCommand: Who = { kind: 'cli' };
/** The platform itself. */
export const bySystem: Who = { kind: 'system' };

/** Writes a line; in the transaction of the act, so that there is never one without the other. */
export async function writeAct(db: Db, act: Act): Promise<void> {
  await insertingAct(db, act);
}

/** The same as a part of a `with`; `from` may keep it from being written. */
export function insertingAct(db: Db, act: Act, from: Fragment = db``): Fragment {
  const { accountId, by, action, subject = null } = act;
  return db`
    insert into kernel.audit (account_id, who, key_id, login_id, address, action, subject, details, trace_id, by_account_id)
    select ${accountId}::uuid, ${by.kind}, ${keyOf(by)}::uuid, ${loginOf(by)}::uuid, ${addressOf(by)}::text, ${action}, ${subject}::text,
      ${detailsOf(act.details)}::text::jsonb, ${traceOf(by)}::text, ${otherOf(act)}::uuid ${from}`;
}

const keyOf = (by: Who): string | null => (by.kind === 'key' ? by.keyId : null);
const loginOf = (by: Who): string | null => (by.kind === 'login' ? by.loginId : null);
const addressOf = (by: Who): string | null => ('address' in by ? (by.address ?? null) : null);
/** The account that acted, where the line is in another one's log. */
const otherOf = ({ accountId, by }: Act): string | null =>
  'accountId' in by && by.accountId !== accountId ? (by.accountId ?? null) : null;
const traceOf = (by: Who): string | null => ('traceId' in by ? (by.traceId ?? null) : null);

const mostBytes = 2_048;
const mostText = 300;
const mostItems = 10;

/** The details as JSON that the column takes: no text that jsonb refuses, and at most 2 KiB. */
function detailsOf(details: object = {}): string {
  const whole = JSON.stringify(details, (_name, value: unknown) => (typeof value === 'string' ? clean(value) : value));
  if (Buffer.byteLength(whole) <= mostBytes) return whole;
  const short = JSON.stringify({ ...details, truncated: true }, (_name, value: unknown) => {
    if (typeof value === 'string') return clean(value.slice(0, mostText));
    return Array.isArray(value) && value.length > mostItems
      ? [...value.slice(0, mostItems), `and ${value.length - mostItems} more`]
      : value;
  });
  return Buffer.byteLength(short) <= mostBytes ? short : '{"truncated":true}';
}

const clean = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();

const retiredAtOnce = 10_000;

/** Deletes the lines from before an instant (RFC 3339). */
export async function retireActs(sql: Sql, before: string): Promise<void> {
  for (;;) {
    const [row] = await sql<{ gone: number }[]>`select kernel.retire_audit(${before}, ${retiredAtOnce}) as gone`;
    if ((row?.gone ?? 0) < retiredAtOnce) return;
  }
}

/** Writes lines of acts without a transaction of their own, such as operations on hosts, off the request path. */
export interface AuditRecorder {
  /** `alike` tells it from others of its kind, and adds details to a line of its own: none are made of one that is counted. */
  record(act: Act, alike?: { as: string; details: () => object }): void;
  /** Writes what is held now. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** About 50 MB; reached only when the database is away for minutes under full load. */
const most = 100_000;
const atOnce = 1_000;
/** Equal acts between two writes that get a line each; the others are counted in the last of them. */
const mostAlike = 20;

interface Held {
  act: Act;
  /** Equal acts that stand in this line too. */
  further: number;
  at: number;
}

/**
 * Collects acts and writes them twice a second, and when the process ends. `likeness` of two acts that differ in nothing
 * that counts is the same text: of a burst of these 20 have a line each, and the last says how many more there were.
 */
export function createAuditRecorder(sql: Sql, clock: Clock, log: Log, metrics?: Metrics): AuditRecorder {
  let alike = new Map<string, { count: number; last: Held }>();
  let lost = 0;
  const { add, flush, close } = createBatches<Held>(
    { clock, log, metrics },
    {
      name: 'lines of the audit log',
      most,
      atOnce,
      async write(held) {
        // Lines that are being written take no more counts.
        alike = new Map();
        const missed = lost;
        const lines = missed === 0 ? held : [...held, lineOfLost(missed, clock.monotonic())];
        await insertActs(sql, lines, clock.monotonic());
        lost -= missed;
      },
    },
  );
  return {
    record(act, other) {
      const likeness = likenessOf(act, other?.as);
      const known = alike.get(likeness);
      if (known && known.count >= mostAlike) {
        known.last.further += 1;
        return;
      }
      const line = other ? { ...act, details: { ...act.details, ...other.details() } } : act;
      const held = { act: line, further: 0, at: clock.monotonic() };
      if (add(held)) alike.set(likeness, { count: (known?.count ?? 0) + 1, last: held });
      else lost += 1;
    },
    flush,
    close,
  };
}

const likenessOf = ({ accountId, by, action, subject, details }: Act, as: string | undefined): string => {
  const { op, outcome } = (details ?? {}) as Record<string, unknown>;
  return `${accountId} ${keyOf(by) ?? loginOf(by)} ${addressOf(by)} ${action} ${subject} ${String(op)} ${String(outcome)} ${as}`;
};

const lineOfLost = (count: number, at: number): Held => ({
  act: { accountId: null, by: bySystem, action: 'audit.lost', details: { count } },
  further: 0,
  at,
});

async function insertActs(sql: Sql, held: readonly Held[], now: number): Promise<void> {
  const column = <T>(pick: (act: Act) => T): T[] => held.map(({ act }) => pick(act));
  const details = held.map(({ act, further }) => detailsOf({ ...act.details, ...(further > 0 && { further }) }));
  await sql`
    insert into kernel.audit (at, account_id, who, key_id, login_id, address, action, subject, details, trace_id, by_account_id)
    select now() - make_interval(secs => age_ms / 1000.0), account_id, who, key_id, login_id, address, action, subject,
      details::jsonb, trace_id, by_account_id
    from unnest(
      ${held.map(({ at }) => Math.max(0, Math.round(now - at)))}::bigint[], ${column((a) => a.accountId)}::uuid[],
      ${column(({ by }) => by.kind)}::text[], ${column(({ by }) => keyOf(by))}::uuid[], ${column(({ by }) => loginOf(by))}::uuid[],
      ${column(({ by }) => addressOf(by))}::text[], ${column((a) => a.action)}::text[],
      ${column((a) => a.subject ?? null)}::text[], ${details}::text[], ${column(({ by }) => traceOf(by))}::text[], ${column(otherOf)}::uuid[]
    ) as given (age_ms, account_id, who, key_id, login_id, address, action, subject, details, trace_id, by_account_id)`;
}
