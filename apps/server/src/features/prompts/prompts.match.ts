import {
  estimatedShare,
  fromBytes,
  leastPercent,
  lowHashes,
  type Description,
  Matcher,
  wordCounts,
} from '@svc/matching';
import type { Db } from '../../kernel/db/db.ts';
import {
  type PromptCandidate,
  findKin,
  findTexts,
  insertWords,
  listHashes,
  listLows,
  searchWords,
  setHashes,
} from './prompts.match.sql.ts';
import type { PromptRow } from './prompts.sql.ts';

/** Bytes of hashes that one turn is compared with: 500,000 words. */
const mostBytes = 2 * 1024 * 1024;
/** Prompts with the same share of words whose texts are compared. */
const mostTied = 10;
const four = 4;

/** A session's facts about a turn in it. */
interface Launched {
  /** The prompt whose launch opened the session. */
  promptId: string;
  /** Its turn has begun already: a turn that is exactly another prompt is that one. */
  hasTurn: boolean;
}

/** A prompt that a turn may be. */
interface Kin {
  id: string;
  orderNo: number;
  /** Words that both have, of those that the longer one has. */
  share: number;
  isOverlap: boolean;
}

/** Which prompt a turn is. Long texts are described and compared off the main thread. */
export class Matching {
  readonly #matcher = new Matcher();

  describe(text: string): Promise<Description> {
    return this.#matcher.describe(text);
  }

  close(): Promise<void> {
    return this.#matcher.close();
  }

  /** Keeps what a search finds a prompt by. */
  async keep(db: Db, prompt: Pick<PromptRow, 'id' | 'order_no' | 'account_id' | 'prompt'>): Promise<void> {
    const described = await this.describe(prompt.prompt);
    if (described.total > 0) await insertWords(db, prompt, described);
  }

  /**
   * The active prompt of an account that a text is (document 1, Pending prompt): the one whose launch opened the session, the
   * same text, the same first 4,000 characters, at least 85 % of the words. Of several of a kind the one with the largest
   * share of words, then with their order, then the newest. In a transaction.
   */
  async find(tx: Db, accountId: string, text: string, launched?: Launched): Promise<string | undefined> {
    if (text.trim() === '') return undefined;
    const described = await this.describe(text);
    const { same, prefix } = await findKin(tx, accountId, described);
    if (same && (same.id === launched?.promptId || launched?.hasTurn !== false)) return same.id;
    const alike = described.total === 0 ? [] : await searchWords(tx, searchFor(accountId, described));
    const kin = await this.#shares(tx, described, [...prefix, ...alike], launched?.promptId);
    const overlapping = kin.filter(({ isOverlap }) => isOverlap);
    const own = [...(same ? [same] : []), ...prefix, ...overlapping].find(({ id }) => id === launched?.promptId);
    if (own ?? same) return (own ?? same)?.id;
    const prefixes = new Set(prefix.map(({ id }) => id));
    const first = kin.filter(({ id }) => prefixes.has(id));
    return this.#best(tx, text, first.length > 0 ? first : overlapping);
  }

  /** How much a text shares with candidates; when they are more than fits, with those that are likely to share most. */
  async #shares(
    tx: Db,
    { hashes, total }: Description,
    candidates: readonly PromptCandidate[],
    first: string | undefined,
  ): Promise<Kin[]> {
    const distinct = [...new Map(candidates.map((one) => [one.id, one])).values()];
    const chosen = await this.#fitting(tx, hashes, distinct, first);
    const kept = new Map(
      (
        await listHashes(
          tx,
          chosen.map(({ id }) => id),
        )
      ).map((row) => [row.id, row.hashes]),
    );
    for (const { id } of chosen) if (!kept.get(id)) kept.set(id, await this.#fill(tx, id));
    const bytes = chosen.map(({ id }) => kept.get(id) ?? Buffer.alloc(0));
    const shared = await this.#matcher.shared(hashes, bytes);
    return chosen.map(({ id, order_no: orderNo }, i) => {
      const longer = Math.max(total, (bytes[i]?.length ?? 0) / four, 1);
      const both = shared[i] ?? 0;
      return { id, orderNo, share: both / longer, isOverlap: both * 100 >= longer * leastPercent };
    });
  }

  /** Candidates whose hashes are `mostBytes` together; the launch's prompt is one of them. */
  async #fitting(
    tx: Db,
    hashes: Uint8Array,
    candidates: readonly PromptCandidate[],
    first: string | undefined,
  ): Promise<readonly PromptCandidate[]> {
    const size = ({ total }: PromptCandidate): number => total * four;
    if (candidates.reduce((sum, one) => sum + size(one), 0) <= mostBytes) return candidates;
    const own = fromBytes(Buffer.from(hashes.slice(0, lowHashes * four)));
    const rows = await listLows(
      tx,
      candidates.map(({ id }) => id),
      lowHashes * four,
    );
    const shares = new Map(rows.map(({ id, low }) => [id, low ? estimatedShare(own, fromBytes(low)) : 1]));
    const estimate = ({ id }: PromptCandidate): number => (id === first ? 2 : (shares.get(id) ?? 0));
    let left = mostBytes;
    return candidates
      .toSorted((a, b) => estimate(b) - estimate(a) || b.order_no - a.order_no)
      .filter((one) => (left -= size(one)) >= 0);
  }

  /** Hashes of a prompt that was kept before there were any. */
  async #fill(tx: Db, id: string): Promise<Buffer> {
    const [row] = await findTexts(tx, [id]);
    const hashes = Buffer.from((await this.describe(row?.prompt ?? '')).hashes);
    await setHashes(tx, id, hashes);
    return hashes;
  }

  /** The one with the largest share; of several the one whose words stand in the text's order, then the newest. */
  async #best(tx: Db, text: string, kin: readonly Kin[]): Promise<string | undefined> {
    const sorted = kin.toSorted((a, b) => b.share - a.share || b.orderNo - a.orderNo);
    const tied = sorted.filter(({ share }) => share === sorted[0]?.share).slice(0, mostTied);
    if (tied.length < 2) return tied[0]?.id;
    const texts = await findTexts(
      tx,
      tied.map(({ id }) => id),
    );
    const pairs = await this.#matcher.sharedPairs(
      text,
      texts.map(({ prompt }) => prompt),
    );
    const most = Math.max(...pairs);
    return texts[pairs.indexOf(most)]?.id;
  }
}

const searchFor = (accountId: string, { sketch, total }: Description) => ({
  accountId,
  sketch,
  total,
  ...wordCounts(total),
});
