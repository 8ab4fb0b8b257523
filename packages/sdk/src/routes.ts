import rows from './routes.json' with { type: 'json' };

/** The properties of a route that a call needs; written from the contract by `npm run generate`. */
export interface RouteRow {
  method: string;
  /** As in the contract: `{name}`, and `{name*}` for the rest of a path. */
  path: string;
  /** Relays answer it. */
  at?: 'relay';
  takes?: 'json' | 'bytes' | 'anything';
  answers: 'json' | 'text' | 'bytes' | 'nothing' | 'events';
  /** Of `json`: may be answered in frames. */
  frames?: boolean;
  /** Of `bytes`: may be followed in events. */
  events?: boolean;
  /** Statuses beyond 2xx whose body is an answer, and no failure. */
  records?: number[];
  /** A list that comes in pages: the name of its items. */
  items?: string;
  /** A repeat with the same `Idempotency-Key` does nothing twice. */
  idempotent?: boolean;
}

/** Every route by feature and verb. */
export const routes: Readonly<Record<string, Readonly<Record<string, RouteRow>>>> = rows as never;
