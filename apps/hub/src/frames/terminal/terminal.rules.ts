import { isRecordId } from '../../api/ids.ts';

/** A terminal that a document was asked for. */
interface Wanted {
  path: string;
}

/**
 * The route of a terminal by the query of its document, `?sandbox=<id>` or `?environment=<id>`; undefined for anything else.
 * `relayPath` is where relays are reached on this origin.
 */
export function terminalPath(search: string, relayPath: string): Wanted['path'] | undefined {
  const query = new URLSearchParams(search);
  const sandbox = query.get('sandbox') ?? '';
  const environment = query.get('environment') ?? '';
  if (isRecordId(sandbox)) return `/v1/sandboxes/${sandbox}/terminal?`;
  if (isRecordId(environment)) return `${relayPath}/v1/environments/${environment}/attach?kind=terminal&`;
  return undefined;
}

/** What a key of the bar types. Arrows as programs ask for them (`isApplication`: DECCKM is set). */
export function typedBy(key: string, isApplication: boolean): string {
  const arrow = { up: 'A', down: 'B', right: 'C', left: 'D' }[key];
  if (arrow !== undefined) return `\x1b${isApplication ? 'O' : '['}${arrow}`;
  return { esc: '\x1b', tab: '\t' }[key] ?? '';
}

/** A typed character as Ctrl and it; anything that Ctrl does not change stays. */
export function withCtrl(data: string): string {
  const code = data.length === 1 ? data.toUpperCase().charCodeAt(0) : 0;
  return code >= 64 && code < 96 ? String.fromCharCode(code - 64) : data;
}
