import type { IncomingMessage } from 'node:http';
import { get as getPlain } from 'node:http';
import { get as getTls } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressesOf, checkUrl, isAllowed, OutboundError, resolveHere, resolvePublic } from '@svc/netguard';

/** How a file is fetched from an address that the operator typed or set. */
interface DownloadOptions {
  /** Hosts that may be reached by http: too, and by a redirect wherever they are. */
  allowHosts: readonly string[];
  /** Ports that a redirect to another host may name. */
  ports: readonly number[];
  /** More bytes than this are refused. */
  mostBytes: number;
  signal?: AbortSignal | undefined;
  /** Waits before the next try after a cut, ms; so many cuts in a row without progress end it. */
  waitsMs?: readonly number[];
  /** A server that says nothing for so long is cut off, ms. */
  idleMs?: number;
}

/** A file as it comes. */
interface Download {
  /** Its bytes in order, each once, whatever connections broke meanwhile. Throws a sentence. */
  chunks: AsyncGenerator<Buffer>;
  /** Its length, once the first bytes are there and where the server says it. */
  total: () => number | undefined;
}

/** The connection broke or the server is busy: what is missing may come by another try. */
class Broken extends Error {}

const mostRedirects = 5;
/** A try that brought fewer bytes than this is no progress: who sends one at a time is not followed for ever. */
const progressBytes = 65_536;
const usualWaitsMs = [500, 1_000, 2_000, 4_000, 8_000];
const usualIdleMs = 30_000;
const busy = new Set([408, 425, 429, 500, 502, 503, 504]);
const nowhere = new Set(['ENOTFOUND', 'ECONNREFUSED']);
const moved = new Set([301, 302, 303, 307, 308]);

/** What a server said of the file at the first answer; another one later is another file. */
interface Version {
  total: number | undefined;
  /** For If-Range: an ETag that is not weak, else the time. */
  validator: string | undefined;
}

/** Throws a sentence unless the operator may fetch from it: https, or http on this machine or a host of `allowHosts`. */
export function checkAddress(url: URL, allowHosts: readonly string[]): void {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.username !== '' || url.password !== '')
    throw new Error('an address with a user or a password is not fetched');
  if (url.protocol === 'https:') return;
  if (url.protocol === 'http:' && (isThisMachine(host) || isAllowed(url, { fetchAllowHosts: allowHosts }))) return;
  throw new Error(`${nameOf(url)} must begin with https:, unless SVC_FETCH_ALLOW_HOSTS names its host`);
}

/** An address in a message: without what may be a secret in it. */
export const nameOf = (url: URL): string => `${url.protocol}//${url.host}${url.pathname}`;

const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d+){3}$/.test(host);

/** Fetches a file; a broken connection is gone on with by Range. Throws a sentence at an address that is not allowed. */
export function download(address: URL, options: DownloadOptions): Download {
  checkAddress(address, options.allowHosts);
  let version: Version | undefined;
  async function* chunks(): AsyncGenerator<Buffer> {
    const waits = options.waitsMs ?? usualWaitsMs;
    let [have, cuts] = [0, 0];
    for (;;) {
      const before = have;
      try {
        const answer = await open(address, have, version, options);
        version ??= versionOf(answer);
        for await (const chunk of bytesOf(answer, have, version, address)) {
          have += chunk.length;
          if (have > options.mostBytes) throw tooLarge(address, options.mostBytes);
          yield chunk;
        }
        if (version.total === undefined || have === version.total) return;
        throw new Broken('it ended early');
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!(error instanceof Broken)) throw error;
        // Nobody was ever there: a wrong address more likely than a bad line.
        if (have === 0 && nowhere.has(error.message)) throw unreached(address, error);
        cuts = have - before >= progressBytes ? 0 : cuts + 1;
        const wait = waits[Math.max(0, cuts - 1)];
        if (cuts > waits.length || wait === undefined) throw gaveUp(address, cuts, have, version, error);
        await sleep(wait, undefined, { signal: options.signal });
      }
    }
  }
  return { chunks: chunks(), total: () => version?.total };
}

/** An answer of 200 or 206 to a request for all bytes from `have` on. Throws `Broken` where another try may help. */
async function open(
  typed: URL,
  have: number,
  version: Version | undefined,
  options: DownloadOptions,
): Promise<IncomingMessage> {
  const ranged = {
    range: `bytes=${have}-`,
    ...(version?.validator !== undefined && { 'if-range': version.validator }),
  };
  const headers = { 'accept-encoding': 'identity', ...(have > 0 && ranged) };
  let url = typed;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    const lookup = await judge(url, typed, options);
    const answer = await ask(url, headers, lookup, options);
    const status = answer.statusCode ?? 0;
    if (status === 200 || status === 206) {
      const length = Number(answer.headers['content-length'] ?? 0);
      if (length <= options.mostBytes) return answer;
      answer.destroy();
      throw tooLarge(typed, options.mostBytes);
    }
    answer.destroy();
    const next = answer.headers.location;
    if (moved.has(status) && next !== undefined && URL.canParse(next, url)) {
      url = new URL(next, url);
      continue;
    }
    if (busy.has(status)) throw new Broken(`it answers ${status}`);
    if (status === 416) throw changed(typed);
    if (status === 404 || status === 410) throw new Missing(`there is no ${nameOf(typed)}`);
    throw new Error(`${nameOf(typed)} cannot be fetched: the server answers ${status}`);
  }
  throw new Error(`${nameOf(typed)} cannot be fetched: it leads on more than ${mostRedirects} times`);
}

/** The server has no such file. */
export class Missing extends Error {}

/**
 * What the operator named may be anywhere. Where a redirect leads elsewhere, the other host chose it: it must be public, unless it
 * is allowed, and the connection goes to the addresses that were judged.
 */
async function judge(
  url: URL,
  typed: URL,
  { allowHosts, ports }: DownloadOptions,
): Promise<LookupFunction | undefined> {
  if (url.hostname === typed.hostname) {
    if (typed.protocol === 'https:' && url.protocol !== 'https:') throw new Error(`${nameOf(typed)} leads to http:`);
    checkAddress(url, allowHosts);
    return undefined;
  }
  const rules = { fetchAllowHosts: allowHosts, fetchPorts: ports };
  try {
    const isNamed = isAllowed(url, rules) && typed.protocol === 'http:';
    const target = checkUrl(url.href, rules, isNamed ? ['https:', 'http:'] : ['https:']);
    const addresses = await addressesOf(target, { public: resolvePublic, here: resolveHere }, timer);
    return (_name, asked, done) => {
      const found = addresses.map((address) => ({ address, family: isIP(address) }));
      if (asked.all) done(null, found);
      else done(null, found[0]?.address ?? '', found[0]?.family);
    };
  } catch (error) {
    if (error instanceof OutboundError && error.kind !== 'refused') throw new Broken(error.message);
    const host = nameOf(url);
    const advice = 'SVC_FETCH_ALLOW_HOSTS may name its host';
    throw new Error(`${nameOf(typed)} leads to ${host}, which is not allowed: ${advice}`, { cause: error });
  }
}

const timer = {
  after(ms: number, work: () => void): () => void {
    const started = setTimeout(work, ms);
    return () => clearTimeout(started);
  },
};

function ask(
  url: URL,
  headers: Record<string, string>,
  lookup: LookupFunction | undefined,
  { signal, idleMs = usualIdleMs }: DownloadOptions,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? getTls : getPlain;
    const request = get(url, { headers, timeout: idleMs, ...(lookup && { lookup }), ...(signal && { signal }) });
    let answer: IncomingMessage | undefined;
    request.once('timeout', () => (answer ?? request).destroy(new Broken(`nothing came for ${idleMs / 1000} s`)));
    request.once('response', (response) => {
      answer = response;
      resolve(response);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      // A certificate does not get better by another try.
      const { code = '' } = error;
      const said = `${nameOf(url)} cannot be fetched: the TLS connection failed (${code})`;
      if (/CERT|SIGNATURE|TLS|SSL|EPROTO/.test(code)) reject(new Error(said, { cause: error }));
      else reject(error instanceof Broken ? error : new Broken(error.code ?? error.message));
    });
  });
}

function versionOf({ headers, statusCode }: IncomingMessage): Version {
  const { etag, 'last-modified': time, 'content-length': length } = headers;
  const total = statusCode === 200 && length !== undefined ? Number(length) : undefined;
  return { total, validator: etag?.startsWith('"') ? etag : time };
}

/** The bytes of an answer behind the first `have` of the file. Throws where it is another file by now. */
async function* bytesOf(answer: IncomingMessage, have: number, version: Version, typed: URL): AsyncGenerator<Buffer> {
  const { headers, statusCode } = answer;
  let skip = 0;
  if (statusCode === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
    const isOther = total !== '*' && version.total !== undefined && Number(total) !== version.total;
    if (have === 0 || Number(start) !== have || isOther) throw abandoned(answer, changed(typed));
  } else {
    const now = versionOf(answer);
    // Of a server without ranges: the same file once more, from its beginning. Its digest is judged in the end.
    if (now.total !== version.total || now.validator !== version.validator) throw abandoned(answer, changed(typed));
    skip = have;
  }
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      const passed = Math.min(skip, chunk.length);
      skip -= passed;
      if (passed < chunk.length) yield chunk.subarray(passed);
    }
  } catch (error) {
    throw error instanceof Broken ? error : new Broken((error as NodeJS.ErrnoException).code ?? 'it broke off');
  }
}

function abandoned(answer: IncomingMessage, error: Error): Error {
  answer.destroy();
  return error;
}

const unreached = (url: URL, why: Error): Error => new Error(`${url.host} cannot be reached (${why.message})`);
const changed = (url: URL): Error => new Error(`${nameOf(url)} was changed while it was fetched; run it again`);
const tooLarge = (url: URL, most: number): Error =>
  new Error(`${nameOf(url)} has more than ${megabytes(most)}, which no image has`);

function gaveUp(url: URL, cuts: number, have: number, version: Version | undefined, why: Error): Error {
  const of = version?.total === undefined ? '' : ` of ${megabytes(version.total)}`;
  const where = have === 0 ? '' : ` with ${megabytes(have)}${of} here; nothing was kept`;
  return new Error(`the connection to ${url.host} broke off ${cuts} times in a row (${why.message})${where}`);
}

/** Bytes for people. */
export const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
