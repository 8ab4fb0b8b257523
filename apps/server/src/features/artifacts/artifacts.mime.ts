import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';

/** Loaded with the first artifact. */
const fileTypes = () => import('file-type');
/** Bytes kept of the beginning and the end of a file while it passes by. */
const headBytes = 65_536;
const tailBytes = 64;
/** A longer JSON text is known by how it begins and ends. */
const mostParsed = 8 * 1024 * 1024;

/** Looks at the bytes of a file as they pass by, and tells its type by content. */
export class Sniffer {
  readonly #head: Buffer[] = [];
  #headLength = 0;
  #tail: Buffer = Buffer.alloc(0);
  #bytes = 0;
  /** Undefined once something was no text. */
  #decoder: TextDecoder | undefined = new TextDecoder('utf-8', { fatal: true });

  see(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#headLength < headBytes) {
      const part = Buffer.from(chunk.subarray(0, headBytes - this.#headLength));
      this.#head.push(part);
      this.#headLength += part.length;
    }
    const last = chunk.subarray(-tailBytes);
    this.#tail = Buffer.concat([this.#tail, last]).subarray(-tailBytes);
    this.#read(chunk);
  }

  /** The type, once all of it was seen; `open` reads the file again where its beginning does not tell. */
  async mime(open: () => Promise<Readable | undefined>): Promise<string> {
    if (this.#bytes === 0) return 'application/x-empty';
    const head = Buffer.concat(this.#head);
    const found = (await (await fileTypes()).fileTypeFromBuffer(head))?.mime;
    // The kind of a ZIP archive shows anywhere in it: an office document, a package, an archive.
    if (found === 'application/zip') return (await this.#archive(open)) ?? found;
    const isText = this.#isText();
    if (isText && (found === undefined || found === 'application/xml')) {
      const text = head.toString();
      const markup = markupOf(text);
      if (markup !== undefined) return markup;
      if (found === undefined && (await this.#isJson(text, open))) return 'application/json';
    }
    return found ?? (isText ? 'text/plain' : 'application/octet-stream');
  }

  #read(chunk: Buffer): void {
    try {
      if (this.#decoder?.decode(chunk, { stream: true }).includes('\0')) this.#decoder = undefined;
    } catch {
      this.#decoder = undefined;
    }
  }

  #isText(): boolean {
    try {
      // A character that is cut off at the end makes it no text.
      return this.#decoder?.decode() !== undefined;
    } catch {
      return false;
    }
  }

  async #archive(open: () => Promise<Readable | undefined>): Promise<string | undefined> {
    const body = await open();
    if (!body) return undefined;
    try {
      return (await (await fileTypes()).fileTypeFromStream(Readable.toWeb(body)))?.mime;
    } catch {
      return undefined;
    } finally {
      body.destroy();
    }
  }

  async #isJson(head: string, open: () => Promise<Readable | undefined>): Promise<boolean> {
    const [first] = head.trimStart();
    const last = this.#tail.toString('latin1').trimEnd().at(-1);
    if (!((first === '{' && last === '}') || (first === '[' && last === ']'))) return false;
    if (this.#bytes > mostParsed) return true;
    const body = await open();
    if (!body) return false;
    try {
      JSON.parse((await buffer(body)).toString());
      return true;
    } catch {
      return false;
    }
  }
}

/** The part before the first element of a document: a declaration, comments, a document type. */
const prolog = /^\s*(?:<\?[^>]*\?>|<!--[\s\S]*?-->|<!doctype\b[^>[]*(?:\[[^\]]*\])?[^>]*>)/i;
const kinds: ReadonlyMap<string, string> = new Map([
  ['svg', 'image/svg+xml'],
  ['html', 'text/html'],
]);

/** The type of a text by its first element, or its document type; undefined for what is neither SVG nor HTML. */
function markupOf(text: string): string | undefined {
  let rest = text.replace(/^\uFEFF/, '');
  for (let found = prolog.exec(rest); found; found = prolog.exec(rest)) {
    const kind = kinds.get(/^\s*<!doctype\s+([a-z]+)/i.exec(found[0])?.[1]?.toLowerCase() ?? '');
    if (kind !== undefined) return kind;
    rest = rest.slice(found[0].length);
  }
  return kinds.get(/^\s*<(?:[\w.-]+:)?([\w.-]+)[\s/>]/.exec(rest)?.[1]?.toLowerCase() ?? '');
}
