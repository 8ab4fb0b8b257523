import { AsyncLocalStorage } from 'node:async_hooks';
import type { default as Provider, KoaContextWithOIDC } from 'oidc-provider';
import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { endAfter, findUsed, sealedTokenAnswers, takeOnce } from './exchange.sql.ts';
import type { ProviderPages } from './pages.ts';
import { deleteGrant, type RecordKey } from './records.sql.ts';

type Parts = Pick<Kernel, 'sql' | 'keyring' | 'clock' | 'config'>;

/** A second use waits this long for the transaction of the first. */
const waitMs = 4_500;
/** Two exchanges of one authorization code this close together are one app that asked twice: the first stays valid. */
const closeSeconds = 10;

/**
 * One request to the token endpoint. What it uses up and what it gives for that are kept in one transaction once the library
 * has made the answer: whoever dies before has used nothing up, and after it the answer can be given again.
 */
export class Exchange {
  /** The code or token that is used up. */
  used: RecordKey | undefined;
  /** It was used before; the answer of then, if it is still given. */
  before: { answer: string | undefined } | undefined;
  readonly #writes: ((tx: Db) => Promise<void>)[] = [];
  readonly #later: (() => Promise<void>)[] = [];

  /** Runs `write` in the transaction, and `later` once it is committed; both at once as long as nothing is used up. */
  async write(db: Db, write: (db: Db) => Promise<void>, later: () => Promise<void>): Promise<void> {
    if (this.used) {
      this.#writes.push(write);
      this.#later.push(later);
      return;
    }
    await write(db);
    await later();
  }

  /** Keeps everything, with the answer; false when another exchange was faster: nothing is kept then. */
  async keep({ sql, keyring, clock, config }: Parts, answer: string): Promise<boolean> {
    const { used } = this;
    if (!used) return true;
    const seconds = answersAgain.has(used.model) ? config.grants.graceSeconds : 0;
    const sealed = seconds > 0 ? keyring.seal(sealedTokenAnswers, Buffer.from(answer)) : null;
    const isFirst = await inTransaction(sql, async (tx) => {
      await endAfter(tx, Math.min(waitMs, config.databaseDeadline.statementMs));
      if (!(await takeOnce(tx, clock, used, { sealed, seconds }))) return false;
      for (const write of this.#writes) await write(tx);
      return true;
    });
    if (isFirst) for (const later of this.#later) await later();
    return isFirst;
  }
}

/** What gives its answer again. A code does not: who stole it would get the tokens (RFC 6749, 4.1.2). */
const answersAgain = new Set(['RefreshToken', 'DeviceCode']);

const current = new AsyncLocalStorage<Exchange>();

/** The exchange of this request; undefined outside of the token endpoint. */
export const currentExchange = (): Exchange | undefined => current.getStore();

/**
 * The answer that a second use gets: that of the first within the grace, undefined for a refusal. A use that comes later ends
 * the grant: two hold the token, and one of them is a thief.
 */
export async function answerOf({ sql, keyring, clock }: Parts, used: RecordKey): Promise<string | undefined> {
  const row = await findUsed(sql, clock, used, closeSeconds);
  if (!row) return undefined;
  if (row.answer) return keyring.open(sealedTokenAnswers, row.answer).toString();
  const isOneApp = used.model === 'AuthorizationCode' && row.is_close;
  if (!isOneApp && row.grant_id !== null) await deleteGrant(sql, row.grant_id);
  return undefined;
}

const refused = { error: 'invalid_grant', error_description: 'grant request is invalid' };
const later = { error: 'temporarily_unavailable', error_description: 'nothing was used up or lost; try again' };

/** Has the token endpoint use each code and token once, and give what was lost on its way again. */
export function exchangeOnce(provider: Provider, kernel: Kernel, pages: ProviderPages): void {
  const fail = async (ctx: KoaContextWithOIDC, status: number, failure: typeof refused): Promise<void> => {
    ctx.status = status;
    await pages.error(ctx, failure);
  };
  const give = (ctx: KoaContextWithOIDC, answer: string): void => {
    ctx.status = 200;
    ctx.type = 'json';
    ctx.body = answer;
  };
  provider.use(async (context, next) => {
    if (context.path !== '/token') {
      await next();
      return;
    }
    const ctx = context as unknown as KoaContextWithOIDC;
    const exchange = new Exchange();
    await current.run(exchange, next);
    const { used, before } = exchange;
    if (before?.answer !== undefined) give(ctx, before.answer);
    if (!used || before || ctx.status !== 200) return;
    try {
      if (await exchange.keep(kernel, JSON.stringify(ctx.body))) return;
      const answer = await answerOf(kernel, used);
      if (answer === undefined) await fail(ctx, 400, refused);
      else give(ctx, answer);
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
