import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { wordsOf } from '@svc/words';
import { messagePage, type PageVisit } from '../auth/index.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { scriptType } from '../../kernel/reference/pages.ts';
import type { Config } from '../../config.ts';
import type { BuiltHub, HubFiles } from './hub.build.ts';
import {
  frameHeaders,
  framePage,
  manifestOf,
  pathOf,
  settingsOf,
  shellHeaders,
  shellPage,
  versionOf,
} from './hub.shell.ts';

/** A page that is asked for while the hub is built waits so long, and looks again by itself. */
const waitMs = 5_000;
const lookAgainSeconds = 2;

/** The documents of the hub: the shell at every page's path, the manifest, the service worker. */
export class HubPages {
  readonly #files: HubFiles;
  readonly #config: Config;

  constructor(files: HubFiles, config: Config) {
    this.#files = files;
    this.#config = config;
  }

  /** Answers with the document at a path. */
  async send(visit: PageVisit): Promise<void> {
    const { path } = visit;
    if (path === '/manifest.webmanifest') return this.#manifest(visit);
    const progress = await this.#files.within(waitMs);
    if (!progress) return this.#building(visit);
    if (path === '/sw.js') {
      if (!('built' in progress)) throw new ApiError('not_found', 'the pages were not built');
      return await this.#worker(visit, progress.built);
    }
    if ('built' in progress && path.startsWith('/frame/')) this.#frame(visit, progress.built);
    else if ('built' in progress) this.#shell(visit, progress.built);
    else this.#failed(visit, progress.failure);
  }

  #shell(visit: PageVisit, built: BuiltHub): void {
    const settings = settingsOf(this.#config);
    const body = shellPage(built, { locale: visit.page.locale, path: pathOf(this.#config), settings });
    this.#document(visit, body, shellHeaders(settings));
  }

  #frame(visit: PageVisit, { frames }: BuiltHub): void {
    const name = visit.path.slice('/frame/'.length);
    const frame = Object.hasOwn(frames, name) ? frames[name] : undefined;
    if (!frame) throw new ApiError('not_found', 'there is no such frame');
    const settings = settingsOf(this.#config);
    const body = framePage(frame, { locale: visit.page.locale, path: pathOf(this.#config), settings });
    this.#document(visit, body, frameHeaders(settings));
  }

  #document(visit: PageVisit, body: string, headers: Record<string, string>): void {
    const { response, request } = visit;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    response.setHeader('etag', tag);
    response.setHeader('vary', 'accept-language');
    if (request.headers['if-none-match'] === tag) response.writeHead(304).end();
    else visit.html(200, body);
  }

  #manifest(visit: PageVisit): void {
    const { response, request, page } = visit;
    const body = JSON.stringify(manifestOf(pathOf(this.#config), page.locale));
    response.writeHead(200, {
      'content-type': 'application/manifest+json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-cache',
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  async #worker(visit: PageVisit, built: BuiltHub): Promise<void> {
    const { response, request } = visit;
    const text = await readFile(join(built.folder, 'sw.js'), 'utf8');
    // Other settings are another worker: it keeps the shell with the headers that come from them.
    const body = `${text}\n// ${versionOf(built, settingsOf(this.#config))}\n`;
    response.writeHead(200, {
      'content-type': scriptType,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-cache',
      'service-worker-allowed': `${pathOf(this.#config)}/`,
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  #building(visit: PageVisit): void {
    const { hub } = wordsOf(visit.page.locale);
    visit.response.setHeader('refresh', String(lookAgainSeconds));
    visit.html(503, messagePage(visit.page, { title: hub.buildingTitle, text: hub.buildingText }));
  }

  #failed(visit: PageVisit, why: string): void {
    const { hub } = wordsOf(visit.page.locale);
    visit.html(503, messagePage(visit.page, { title: hub.failedTitle, text: hub.failedText(why.slice(0, 300)) }));
  }
}
