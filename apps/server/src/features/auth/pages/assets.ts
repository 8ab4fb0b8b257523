import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { scriptType, styleType } from '../../../kernel/reference/pages.ts';

/** A file as it is served. */
export interface PageAsset {
  /** Media type. */
  type: string;
  body: Buffer;
  /** With its quotes. */
  etag: string;
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/**
 * The files that pages load, by their path below `{base}`. Reads them anew: call it once, at the start. Each is made when it is
 * first asked for: what strips types takes 0.2 s of processor time to load, which a start need not wait for.
 */
export function pageAssets(): ReadonlyMap<string, () => PageAsset> {
  const [style, source] = [read('style.css'), read('sign-in.browser.ts')];
  return new Map([
    ['/assets/style.css', once(() => asset(styleType, style))],
    ['/assets/sign-in.js', once(() => asset(scriptType, script(source)))],
  ]);
}

function once(make: () => PageAsset): () => PageAsset {
  let made: PageAsset | undefined;
  return () => (made ??= make());
}

/** Types become blanks; blanks and comments at the beginning and end of lines go. */
const script = (source: string): string =>
  stripTypeScriptTypes(source, { mode: 'strip' })
    .replace(/^\s*\/\*\*.*\*\/$/gm, '')
    .replace(/^\s+|\s+$/gm, '');

function asset(type: string, text: string): PageAsset {
  const body = Buffer.from(text);
  return { type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}
