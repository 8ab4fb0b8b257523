import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { overviewItem, Route, RouteParsed, RouteResult } from '@svc/contract';
import type { z } from 'zod';
import type { Actor } from './base/actor.ts';
import type { Context } from './http/context.ts';
import type { Commands } from './commands.ts';
import type { Db } from './db/db.ts';
import type { Instant } from './db/instant.ts';
import type { AccountData } from './deletion.ts';
import type { Kernel } from './kernel.ts';
import type { Machine } from './machine.ts';
import type { Job } from './work/jobs.ts';
import type { ChangesLeft, Undoes } from './records/app-changes.ts';
import type { TakesBack } from './records/let-in.ts';
import type { Quota } from './records/quotas.ts';
import type { Restored } from './restored.ts';

/** A success with a status other than the route's own, or with headers. */
export class Answer<T> {
  readonly body: T;
  /** Undefined: the route's own. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: T, extra: { status?: number; headers?: Record<string, string> } = {}) {
    this.body = body;
    this.status = extra.status;
    this.headers = extra.headers ?? {};
  }
}

/** One operation: a route of the contract and what it does. */
export interface Operation {
  readonly route: Route;
  readonly run: (context: Context, input: never) => Promise<unknown>;
}

/** The result of `run`: a stream for bytes, nothing for events, sockets and relayed answers (`run` opens them), else the body. */
type Returned<R extends Route> = R['answers']['kind'] extends 'bytes'
  ? Readable
  : R['answers']['kind'] extends 'events' | 'relayed' | 'socket'
    ? void
    : RouteResult<R>;

/**
 * Binds a route to its work; the input is validated and the result typed by the contract. On a route with frames, `run`
 * sends them to `context.frames` as they come, all but the last, and returns the whole at the end.
 */
export function operation<R extends Route>(
  route: R,
  run: (context: Context, input: RouteParsed<R>) => Promise<Returned<R> | Answer<Returned<R>>>,
): Operation {
  return { route, run };
}

/** Work of a feature that happens later, is retried, or recurs. */
export type JobDefinition = Job<Kernel>;

/** The parts of the platform that a process runs; all of them, unless it was started for one part. */
export interface Role {
  /** Answers requests and holds streams. */
  readonly serves: boolean;
  /** Does what is due: tickers, keepers, deliveries, jobs. */
  readonly works: boolean;
  /** Answers the routes that are `at: 'relay'`. A process that only relays has no other and does nothing that is due. */
  readonly relays: boolean;
  /** Sends nothing by itself, not even in place of a worker that is gone: a copy of a platform that is still there. */
  readonly isCopy?: boolean;
}

/** The role of a process that runs the whole platform. */
export const wholeRole: Role = { serves: true, works: true, relays: true };

/** A feature without a running platform, as `features.ts` lists it. */
export interface Manifest {
  /** URL segment, folder, contract file, Postgres schema, OpenAPI tag and SDK namespace. */
  readonly name: string;
  /** Tables and files of an account, and how they go. */
  readonly data?: AccountData;
  /** The state machines of its tables. */
  readonly machines?: readonly Machine[];
  /** Its accounts have a bounded number of these. */
  readonly quotas?: readonly Quota[];
  /** Its part of the command line. */
  readonly commands?: Commands;
  /** Whether there is a file of it in the store, as far as its rows know. */
  readonly hasBlobs?: (db: Db) => Promise<boolean>;
  /** Its part of a restore. Unset: what it keeps goes on as it was. */
  readonly restored?: Restored;
}

/** One request outside of the contract, and the parts of the process that it needs. */
interface RawExchange {
  readonly request: IncomingMessage;
  /** Has the trace id, the version and what a page of another origin needs among its headers. */
  readonly response: ServerResponse;
  /** The part of the path after the prefix, as it came: still encoded, without the query. */
  readonly rest: string;
  readonly traceId: string;
  /** The address that the request came from. */
  readonly address: string;
  readonly kernel: Kernel;
}

/** Everything below a prefix, answered by a feature itself: for what is no JSON API. A failure before the head is a 500. */
export interface RawRoute {
  /** Begins and ends with `/`, and is not below `/v1`: what stands there is in the contract. */
  readonly prefix: string;
  /** As of a route: below the path of relays, in every process that relays. */
  readonly at?: 'relay';
  /** People open it: its prefix without the slash leads there. */
  readonly isPage?: boolean;
  /** Which paths it has (the part after the prefix); the others are not found. If unset: all. */
  readonly has?: (rest: string) => boolean;
  readonly open: (exchange: RawExchange) => Promise<void>;
}

/** What a feature says of an account on the first page. */
export interface Summary {
  /** By group: a group of the overview's `counts`. */
  readonly counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** What needs a person, 50 at most, worst first. */
  readonly attention?: readonly z.input<typeof overviewItem>[];
  /** Further parts of the overview that are this feature's. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A record that was found by its name. */
interface FoundRecord {
  kind: string;
  id: string;
  title: string;
  detail?: string;
  /** Path of its page below `{hub_url}`. */
  href: string;
}

/** A feature's part of the first page, for those who may call `rights`. Both read in one statement, or two. */
export interface OverviewPart {
  readonly rights: Route;
  readonly summary: (db: Db, accountId: string, now: Instant) => Promise<Summary>;
  /** Records whose name holds `pattern` of LIKE, those that match `prefix` first; `most` of them. */
  readonly find?: (
    db: Db,
    accountId: string,
    wanted: { pattern: string; prefix: string; most: number },
  ) => Promise<FoundRecord[]>;
}

/** A feature as `app.ts` lists it: its operations by verb and its work outside requests. */
export interface Feature extends Manifest {
  readonly operations: Readonly<Record<string, Operation>>;
  /** On every answer of its routes, refusals among them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What it answers outside of the contract, such as pages. */
  readonly raw?: readonly RawRoute[];
  /** Fields beside `error` in every failure of its routes. */
  readonly errorsBeside?: Readonly<Record<string, unknown>>;
  /** Refuses an account that the feature is switched off for, by throwing; after key, subscription and scope. */
  readonly gate?: (actor: Actor) => void;
  readonly jobs?: readonly JobDefinition[];
  /** How it takes back what an app let in that is disconnected. */
  readonly takesBack?: TakesBack;
  /** How it undoes what an app changed that is disconnected. */
  readonly undoes?: Undoes;
  /** Which changes of apps are of something that is still there. */
  readonly changesLeft?: ChangesLeft;
  /** Its part of the first page. */
  readonly overview?: OverviewPart;
  /** Its changes are a topic of the feed, of its name; a key needs the rights of this route to be told of them. */
  readonly topic?: Route;
  /**
   * Starts what the role of this process needs; answers how it is ended. Runs before the first request. What caches or
   * listens to the bus starts in every role.
   */
  readonly start?: (
    kernel: Kernel,
    role: Role,
  ) => Promise<{
    /** Finish or hand back work in flight; requests marked `whileDraining` are still served. */
    drain?: () => Promise<void>;
    stop?: () => Promise<void>;
  }>;
}
