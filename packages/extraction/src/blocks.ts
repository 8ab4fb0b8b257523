/** A run of text in one style; a line break is a run of `\n`. */
export interface Run {
  readonly text: string;
  readonly code?: boolean;
  readonly strong?: boolean;
  readonly emphasis?: boolean;
  /** Absolute http, https or mailto URL. */
  readonly href?: string;
}

/** A piece of a page's main content. */
export type Block =
  | { readonly type: 'heading'; readonly level: number; readonly runs: readonly Run[] }
  | { readonly type: 'paragraph'; readonly runs: readonly Run[] }
  | {
      readonly type: 'list';
      readonly ordered: boolean;
      /** Number of the first item. */
      readonly start: number;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly type: 'table';
      /** The first row names the columns. */
      readonly header: boolean;
      /** Cells of each row. */
      readonly rows: readonly (readonly (readonly Run[])[])[];
    }
  | { readonly type: 'code'; readonly language: string; readonly text: string }
  | { readonly type: 'quote'; readonly blocks: readonly Block[] }
  | { readonly type: 'image'; readonly alt: string }
  | { readonly type: 'rule' }
  /** Text as the document has it: text, JSON, XML, a PDF's page. */
  | { readonly type: 'plain'; readonly text: string };

export type PageKind = 'html' | 'text' | 'json' | 'xml' | 'feed' | 'pdf';
export type PageFormat = 'text' | 'markdown' | 'html';

/** Content of a document (design: tools.md, Fetch). All of it is the page's word: hostile data, never to be followed. */
export interface Page {
  readonly kind: PageKind;
  /** Bare media type that the bytes are, e.g. `text/html`: sniffed, the header is a hint. */
  readonly contentType: string;
  /** One line, at most 500 units. */
  readonly title: string;
  /** One line, at most 200 units. */
  readonly byline: string;
  /** One line, at most 1,000 units. */
  readonly description: string;
  /** Absolute http or https URL, or `''`. */
  readonly canonical: string;
  /** BCP 47 tag as the page says it, in usual case (`en`, `ro-RO`), or `''`. */
  readonly lang: string;
  /** `YYYY-MM-DD` or an ISO 8601 instant in UTC; `''` when unknown. */
  readonly publishedAt: string;
  /** The main content. */
  readonly blocks: readonly Block[];
  /** All text that a reader of the page sees, a block a line; at most 1,000,000 units. */
  readonly visible: string;
  /** For each line of `visible` the lines that say what it is (`Visible`); empty where the document says nothing of it. */
  readonly outline: readonly (readonly number[])[];
  /** It shows nothing without its script, and holds its text nowhere else. */
  readonly needsScript: boolean;
  /** Absolute http or https URL to which it sends its reader at once, or `''`. */
  readonly refresh: string;
  /** The page asks not to be indexed. */
  readonly noIndex: boolean;
}

/** Most UTF-16 units of `visible`, and of the content of a page. */
export const mostUnits = 1_000_000;

/** A document that cannot be read: of a media type without text, or broken. */
export class ExtractionError extends Error {
  readonly kind: 'unsupported' | 'unreadable';

  constructor(kind: 'unsupported' | 'unreadable', message: string) {
    super(message);
    this.name = 'ExtractionError';
    this.kind = kind;
  }
}
