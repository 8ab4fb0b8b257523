import { AsyncLocalStorage } from 'node:async_hooks';
import type { default as Provider, KoaContextWithOIDC } from 'oidc-provider';
import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { endAfter, findUsed, sealedTokenAnswers, takeOnce } from './exchange.sql.ts';
import type { ProviderPages } from './pages.ts';
import type { RecordKey } from './records.sql.ts';

type Parts = Pick<Kernel, 'sql' | 'keyring' | 'clock' | 'config'>;

/** A second use waits this long for the transaction of the first. */
const waitMs = 4_500;
/** Two exchanges of one authorization code this close together are one app that asked twice: the first stays valid. */
const closeSeconds = 10;

/** A record that the library makes. */
interface Write {
  model: string;
  write: (db: Db) => Promise<void>;
  later: () => Promise<void>;
}

/** An answer that is kept. */
interface KeptAnswer {
  /** What was asked for; undefined in those that a release before kept. */
  asked?: string;
  text: string;
}

/**
 * The member of a kept answer that says what was asked for. A gateway of the release before gives a kept text as it is:
 * with this beside its own members it is a token answer still (RFC 6749, 5.1: unknown ones are ignored).
 */
const askedMember = 'svc_asked';

/**
 * One request to the token endpoint. What it uses up and what it gives for that are kept in one transaction once the library
 * has made the answer: whoever dies before has used nothing up, and after it the answer can be given again.
 */
export class Exchange {
  /** The code or token that is used up. */
  used: RecordKey | undefined;
  /** One that was used before, for the same. */
  before: RecordKey | undefined;
  readonly #ctx: KoaContextWithOIDC | undefined;
  readonly #writes: Write[] = [];

  constructor(ctx?: KoaContextWithOIDC) {
    this.#ctx = ctx;
  }

  /** What is asked for beside the token: two processes of an app may refresh at once for different resources. */
  get asked(): string {
    const { scope, resource } = (this.#ctx?.oidc.params ?? {}) as { scope?: string; resource?: string | string[] };
    const scopes = scope?.split(' ').filter(Boolean).sort();
    return JSON.stringify([scopes ?? null, [resource ?? []].flat().sort()]);
  }

  /** Whether a token was used for something else, and its answer is still given. */
  async asksOther(parts: Parts, key: RecordKey): Promise<boolean> {
    const kept = keptOf(parts, await findUsed(parts.sql, parts.clock, key, closeSeconds));
    return kept?.asked !== undefined && kept.asked !== this.asked;
  }

  /**
   * Keeps the record in the transaction of the exchange, and does what comes later once that is committed; both at
   * once as long as nothing is used up.
   */
  async write(db: Db, one: Write): Promise<void> {
    if (this.used) {
      this.#writes.push(one);
      return;
    }
    await one.write(db);
    await one.later();
  }

  /** Keeps everything, with the answer; false when another exchange was faster: nothing is kept then. */
  async keep({ sql, keyring, clock, config }: Parts, text: string): Promise<boolean> {
    const { used } = this;
    if (!used) return true;
    const seconds = answersAgain.has(used.model) ? config.grants.graceSeconds : 0;
    const kept = JSON.stringify({ ...(JSON.parse(text) as object), [askedMember]: this.asked });
    const sealed = seconds > 0 ? keyring.seal(sealedTokenAnswers, Buffer.from(kept)) : null;
    const isFirst = await inTransaction(sql, async (tx) => {
      await endAfter(tx, Math.min(waitMs, config.databaseDeadline.statementMs));
      if (!(await takeOnce(tx, clock, used, { sealed, seconds }))) return false;
      for (const { write } of this.#writes) await write(tx);
      return true;
    });
    if (isFirst) for (const { later } of this.#writes) await later();
    return isFirst;
  }

  /** Keeps what was made beside an answer that is given again, but no further token to refresh with: there is one. */
  async keepBeside({ sql }: Parts): Promise<void> {
    const beside = this.#writes.filter(({ model }) => model !== 'RefreshToken');
    await inTransaction(sql, async (tx) => {
      for (const { write } of beside) await write(tx);
    });
    for (const { later } of beside) await later();
  }
}

/** The answer of an exchange that is still given. */
function keptOf({ keyring }: Parts, row: { answer: Buffer | null } | undefined): KeptAnswer | undefined {
  if (!row?.answer) return undefined;
  const opened = keyring.open(sealedTokenAnswers, row.answer).toString();
  const { [askedMember]: asked, ...answer } = JSON.parse(opened) as { [askedMember]?: string };
  return asked === undefined ? { text: opened } : { asked, text: JSON.stringify(answer) };
}

/** What gives its answer again. A code does not: who stole it would get the tokens (RFC 6749, 4.1.2). */
const answersAgain = new Set(['RefreshToken', 'DeviceCode']);

const current = new AsyncLocalStorage<Exchange>();

/** The exchange of this request; undefined outside of the token endpoint. */
export const currentExchange = (): Exchange | undefined => current.getStore();

/** What is told of a code or token that somebody uses who should not have it. */
export type Stolen = (whose: { accountId: string; clientId: string; grantId: string }) => Promise<void>;

/**
 * The answer that a second use gets: that of the first within the grace, undefined for a refusal. A use that comes later ends
 * the grant and what was made with it: two hold the token, and one of them is a thief.
 */
async function answerOf(parts: Parts & { stolen: Stolen }, used: RecordKey): Promise<KeptAnswer | undefined> {
  const row = await findUsed(parts.sql, parts.clock, used, closeSeconds);
  const kept = keptOf(parts, row);
  if (!row || kept) return kept;
  const isOneApp = used.model === 'AuthorizationCode' && row.is_close;
  const { account_id: accountId, client_id: clientId, grant_id: grantId } = row;
  if (!isOneApp && accountId !== null && clientId !== null && grantId !== null)
    await parts.stolen({ accountId, clientId, grantId });
  return undefined;
}

const refused = { error: 'invalid_grant', error_description: 'grant request is invalid' };
const later = { error: 'temporarily_unavailable', error_description: 'nothing was used up or lost; try again' };

/** Has the token endpoint use each code and token once, and give what was lost on its way again. */
export function exchangeOnce(
  provider: Provider,
  { kernel, pages, stolen }: { kernel: Kernel; pages: ProviderPages; stolen: Stolen },
): void {
  const parts = { ...kernel, stolen };
  const fail = async (ctx: KoaContextWithOIDC, status: number, failure: typeof refused): Promise<void> => {
    ctx.status = status;
    await pages.error(ctx, failure);
  };
  const give = (ctx: KoaContextWithOIDC, answer: string): void => {
    ctx.status = 200;
    ctx.type = 'json';
    ctx.body = answer;
  };
  /**
   * After another exchange that was faster, or that was answered before: its answer, or that with a token for what is
   * asked for here.
   */
  const giveAgain = async (ctx: KoaContextWithOIDC, exchange: Exchange, used: RecordKey): Promise<void> => {
    const kept = await answerOf(parts, used);
    if (kept === undefined) return fail(ctx, 400, refused);
    if (kept.asked === undefined || kept.asked === exchange.asked) return give(ctx, kept.text);
    await exchange.keepBeside(kernel);
    const { refresh_token: successor } = JSON.parse(kept.text) as { refresh_token?: string };
    give(ctx, JSON.stringify({ ...(ctx.body as object), refresh_token: successor }));
  };
  provider.use(async (context, next) => {
    if (context.path !== '/token') {
      await next();
      return;
    }
    const ctx = context as unknown as KoaContextWithOIDC;
    const exchange = new Exchange(ctx);
    await current.run(exchange, next);
    const { used, before } = exchange;
    if (!before && (!used || ctx.status !== 200)) return;
    try {
      if (before) return await giveAgain(ctx, exchange, before);
      if (used && !(await exchange.keep(kernel, JSON.stringify(ctx.body)))) await giveAgain(ctx, exchange, used);
    } catch (error) {
      // The library's own error: the grant ended meanwhile.
      const isOver = (error as { error?: unknown }).error === 'invalid_grant';
      if (!isOver) {
        kernel.log.warn({ err: error }, 'an exchange was not kept; the app is told to try again');
        ctx.set('retry-after', '1');
      }
      await (isOver ? fail(ctx, 400, refused) : fail(ctx, 503, later));
    }
  });
}
