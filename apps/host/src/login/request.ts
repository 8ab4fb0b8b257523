import { CommandError, errnoOf } from '../failure.ts';

/** An answer of a platform or of its identity provider. */
export interface Answer {
  status: number;
  /** Empty when it was no JSON object. */
  body: Record<string, unknown>;
}

/** No answer here is longer. */
const mostBytes = 256 * 1024;
const timeoutMs = 30_000;

/** No answer came: another attempt may get one. */
export class Unreachable extends CommandError {
  override name = 'Unreachable';
}

/**
 * Asks for JSON. What is sent goes to this address and no other: a redirect is refused. Throws `CommandError` for one and for an
 * answer that is too long, `Unreachable` when none came within 30 s.
 */
export async function ask(
  url: string,
  {
    headers = {},
    ...init
  }: { method?: string; headers?: Record<string, string>; body?: string | URLSearchParams } = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const { host } = new URL(url);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      ...init,
      headers: { accept: 'application/json', ...headers },
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    const { status } = response;
    if (status >= 300 && status < 400) {
      const to = response.headers.get('location') ?? '';
      const at = URL.canParse(to, url) ? ` ${new URL(to, url).origin}` : '';
      throw new CommandError(`${host} leads to another address${at}: give the platform's own`);
    }
    return { status, body: objectOf(await readText(response, host)) };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    signal?.throwIfAborted();
    const { cause, message } = error as Error;
    const why = errnoOf(cause) ?? (cause instanceof Error ? cause.message : message);
    throw new Unreachable(`${host} cannot be reached: ${timeout.aborted ? 'no answer within 30 s' : why}`);
  }
}

/** Sends a form, as the endpoints of OAuth take it. */
export const postForm = (
  url: string,
  fields: Readonly<Record<string, string>>,
  { signal, headers = {} }: { signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<Answer> => ask(url, { method: 'POST', body: new URLSearchParams(fields), headers }, signal);

async function readText({ body }: Response, host: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new CommandError(`${host} answered more than this program reads`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said by who expected something.
  }
  return {};
}

/** A failure of OAuth, or of the API, in the platform's words. */
export function faultOf({ status, body }: Answer): string {
  const { error, error_description: description } = body as { error?: unknown; error_description?: unknown };
  if (typeof error === 'string') return typeof description === 'string' ? `${error}: ${description}` : error;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return typeof message === 'string' ? `${status} ${String(code)}: ${message}` : `HTTP ${status}`;
}
