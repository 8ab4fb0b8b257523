import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { textType } from '../../kernel/reference/pages.ts';
import type { PageVisit } from '../auth/index.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { HubFiles } from './hub.build.ts';

/** A file as it is served. */
interface HubAsset {
  /** Media type. */
  type: string;
  body: Buffer;
  /** The same under gzip; undefined where that makes it no smaller. */
  packed: Buffer | undefined;
}

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
const assetName = /^[\w-]+(?:\.[\w-]+)*\.(?:js|css|svg|png|woff2)$/;
/** Names with the hash of their content. */
const isHashed = /-[A-Z0-9]{8}\.\w+$/;
const pack = promisify(gzip);
/** A build has about 60 files; those of two builds before may be asked for too. */
const mostKept = 300;

/** Files of the hub, read and packed once each. */
export class HubAssets {
  readonly #files: HubFiles;
  readonly #kept = new Map<string, Promise<HubAsset | undefined>>();

  constructor(files: HubFiles) {
    this.#files = files;
  }

  /** Answers with a file, which never changes under its name. Throws 404 when no build has it. */
  async send(visit: PageVisit, name: string): Promise<void> {
    const asset = await this.#find(name);
    if (!asset) throw new ApiError('not_found', 'there is no such file; reload the page');
    const { request, response } = visit;
    const takesPacked = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    const body = takesPacked && asset.packed ? asset.packed : asset.body;
    response.writeHead(200, {
      'content-type': asset.type,
      'content-length': body.length,
      'cache-control': isHashed.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      ...(body === asset.packed && { 'content-encoding': 'gzip' }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  async #find(name: string): Promise<HubAsset | undefined> {
    if (!assetName.test(name)) return undefined;
    const known = this.#kept.get(name);
    if (known) return known;
    const read = this.#read(name);
    if ((await read) && this.#kept.size < mostKept) this.#kept.set(name, read);
    return read;
  }

  async #read(name: string): Promise<HubAsset | undefined> {
    const progress = await this.#files.find();
    const current =
      'built' in progress && progress.built.files.includes(name) ? join(progress.built.folder, name) : undefined;
    const path = current ?? (await this.#files.findOld(name));
    if (path === undefined) return undefined;
    const body = await readFile(path);
    const packed = await pack(body, { level: 9 });
    return {
      type: types[extname(name)] ?? textType,
      body,
      packed: packed.length < body.length ? packed : undefined,
    };
  }
}
