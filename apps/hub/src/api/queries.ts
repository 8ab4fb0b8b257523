import { QueryClient, type QueryKey, useInfiniteQuery, useQuery } from '@tanstack/preact-query';
import type { Change } from '@svc/sdk';
import { isUnreached } from './client.ts';
import { isRecordId } from './ids.ts';
import type { Store } from './store.ts';

/** A record that has an id, as every list of the API has them. */
interface Row {
  id: string;
}
interface Page {
  rows: Row[];
  next?: string | undefined;
}
interface Pages {
  pages: Page[];
  pageParams: unknown[];
}

/** Pages of a list that are kept: what a reader sees first. All of a long one would be written again with each of its pages. */
const keptPages = 2;
/** What is read of a page that was opened a moment ago is not read again. */
const freshMs = 5_000;

/** The answers that this tab holds; each that comes from the API is kept in `store` too. */
export function createQueries(store: Store): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: freshMs,
        gcTime: 30 * 60_000,
        networkMode: 'always',
        refetchOnWindowFocus: false,
        refetchOnReconnect: true,
        retry: (failures, error) => failures < 2 && isUnreached(error) && navigator.onLine,
      },
    },
  });
  document.addEventListener('visibilitychange', readUnseen);
  client.getQueryCache().subscribe(({ type, query }) => {
    if (type !== 'updated' || query.state.status !== 'success' || query.meta?.['kept'] === false) return;
    const { data, dataUpdatedAt: at } = query.state;
    const row = { key: JSON.stringify(query.queryKey), data: beginningOf(data), at };
    if (at > (keptAt.get(row.key) ?? 0)) {
      keptAt.set(row.key, at);
      void store.keep(row);
    }
  });
  return client;
}
const keptAt = new Map<string, number>();

/** An answer as it is kept: of a list its first pages, from which it goes on. */
function beginningOf(data: unknown): unknown {
  const { pages, pageParams } = (data ?? {}) as Partial<Pages>;
  if (!Array.isArray(pages) || !Array.isArray(pageParams) || pages.length <= keptPages) return data;
  return { pages: pages.slice(0, keptPages), pageParams: pageParams.slice(0, keptPages) };
}

/**
 * Puts what the browser kept in front of what will be read. All of it is read anew where it is shown: the page before may have heard
 * of a change and been left before it read what that made old.
 */
export async function restore(client: QueryClient, store: Store): Promise<void> {
  for (const { key, data, at } of await store.load()) {
    const queryKey = JSON.parse(key) as QueryKey;
    // It came late, and the page has read by itself.
    if ((client.getQueryState(queryKey)?.dataUpdatedAt ?? 0) >= at) continue;
    keptAt.set(key, at);
    client.setQueryData(queryKey, data, { updatedAt: at });
    void client.invalidateQueries({ queryKey, exact: true, refetchType: 'none' });
  }
}

/** What a page knows of an answer. */
export interface Answer<T> {
  data: T | undefined;
  /** Why the newest try failed; `data` may be older. */
  error: unknown;
  isLoading: boolean;
  /** When `data` was true, in milliseconds since the epoch. */
  at: number;
  again: () => void;
}

/** One answer of the API. `key` begins with the feature. */
export function useAnswer<T>(
  key: QueryKey,
  ask: () => Promise<T>,
  options: { enabled?: boolean; everyMs?: number; kept?: boolean } = {},
): Answer<T> {
  const found = useQuery<T>({
    queryKey: key,
    queryFn: ask,
    enabled: options.enabled ?? true,
    meta: { kept: options.kept ?? true },
    ...(options.everyMs !== undefined && { refetchInterval: options.everyMs }),
  });
  return {
    data: found.data,
    error: found.error ?? undefined,
    isLoading: found.isLoading,
    at: found.dataUpdatedAt,
    again: () => void found.refetch(),
  };
}

/** A list of the API, page after page. */
export interface ListAnswer<T> extends Answer<T[]> {
  hasMore: boolean;
  more: () => void;
  isLoadingMore: boolean;
}

/** A list of the API; `ask` answers one page. `key` begins with the feature, so that its changes find it. */
export function useRows<T>(
  key: QueryKey,
  ask: (cursor: string | undefined) => Promise<{ rows: T[]; next?: string | undefined }>,
): ListAnswer<T> {
  const found = useInfiniteQuery({
    queryKey: [...key, 'rows'],
    queryFn: async ({ pageParam }) => ask(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next,
  });
  return {
    data: found.data?.pages.flatMap(({ rows }) => rows),
    error: found.error ?? undefined,
    isLoading: found.isLoading,
    at: found.dataUpdatedAt,
    again: () => void found.refetch(),
    hasMore: found.hasNextPage,
    more: () => void (found.isFetchingNextPage || found.fetchNextPage()),
    isLoadingMore: found.isFetchingNextPage,
  };
}

/**
 * Puts a change into every answer that shows its record, without a request where the change brings the record. A list that is
 * filtered or sorted by the server is read anew when something new comes: where it stands there only the server knows.
 */
export function applyChange(client: QueryClient, { topic, op, id, record }: Change): void {
  for (const joined of joins[topic] ?? []) readSoon(client, [joined]);
  for (const query of client.getQueryCache().findAll({ queryKey: [topic] })) {
    const { queryKey: key } = query;
    const before: unknown = query.state.data;
    // Of one record: its page, and what stands below it. Of another one it tells nothing.
    if (typeof key[1] === 'string' && isRecordId(key[1])) {
      if (key[1] !== id) continue;
      if (key.length === 2 && record !== undefined && before !== undefined)
        client.setQueryData(key, { ...before, ...record });
      // A change tells a part of some records, and never what goes: that a run waits for nothing any more.
      readSoon(client, key);
    } else if (key.at(-1) === 'rows' && before !== undefined) {
      const after = changedPages(before as Pages, { op, id, record });
      // What is on its way may be older than the change, and would take its place.
      if (after === undefined || query.state.fetchStatus === 'fetching') readSoon(client, key);
      if (after !== undefined && after !== before) client.setQueryData(key, after);
    } else readSoon(client, key);
  }
}

/** A busy account changes many times a second: an answer is read anew at most once in this time. */
const readEveryMs = 1_000;
/** What happens at once, such as a monitor that is down and the alert of it, is read once. */
const gatherMs = 20;
/** Of each client the answers that were read a moment ago, and whether they became old meanwhile. */
const resting = new WeakMap<QueryClient, Map<string, { isOld: boolean }>>();

/**
 * What is read anew once somebody looks at this tab: ten tabs that read at once are in the way of the one in view, since a browser
 * has six connections for all of them.
 */
const unseen = new Map<string, () => void>();

function readUnseen(): void {
  if (document.visibilityState === 'hidden') return;
  const all = [...unseen.values()];
  unseen.clear();
  for (const read of all) read();
}

/** Reads an answer anew: soon after a rest, else once for all changes until the rest is over. */
export function readSoon(client: QueryClient, key: QueryKey): void {
  const answers = resting.get(client) ?? new Map<string, { isOld: boolean }>();
  resting.set(client, answers);
  const name = JSON.stringify(key);
  const known = answers.get(name);
  if (known) {
    known.isOld = true;
    return;
  }
  if (document.visibilityState === 'hidden') {
    unseen.set(name, () => readSoon(client, key));
    return;
  }
  const rest = { isOld: false };
  answers.set(name, rest);
  setTimeout(() => {
    // One that runs is let run to its end: begun anew with each change, a list of many pages would never come.
    rest.isOld = client.isFetching({ queryKey: key }) > 0;
    if (!rest.isOld) void client.invalidateQueries({ queryKey: key });
  }, gatherMs);
  setTimeout(() => {
    answers.delete(name);
    if (rest.isOld) readSoon(client, key);
  }, readEveryMs);
}

/** Answers that are put together of several features, by the topics whose changes show in them. */
const joins: Record<string, readonly string[]> = {
  hosts: ['machines'],
  schedules: ['machines'],
  environments: ['machines', 'projects'],
};

/** The pages with the change in them; undefined: only the server knows. */
function changedPages(
  all: Pages,
  { op, id, record }: { op: Change['op']; id: string; record: Change['record'] },
): Pages | undefined {
  const holder = all.pages.find(({ rows }) => rows.some((row) => row.id === id));
  if (op === 'deleted') return holder ? mapRows(all, holder, (rows) => rows.filter((row) => row.id !== id)) : all;
  if (!holder || record === undefined) return undefined;
  return mapRows(all, holder, (rows) => rows.map((row) => (row.id === id ? { ...row, ...record } : row)));
}

const mapRows = (all: Pages, holder: Page, change: (rows: Row[]) => Row[]): Pages => ({
  ...all,
  pages: all.pages.map((page) => (page === holder ? { ...page, rows: change(page.rows) } : page)),
});
