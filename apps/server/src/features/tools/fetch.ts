import { contract, type RouteParsed } from '@svc/contract';
import type { Clock } from '../../kernel/base/clock.ts';
import { operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { OutboundError } from '../../kernel/outside/outbound.ts';
import { isFaultOfServer, type Pages, UnreadableError } from '../pages/index.ts';
import type { Rules } from '../rules/index.ts';
import { useTool } from './tools.use.ts';

interface Parts {
  readonly pages: Pages;
  readonly rules: Rules;
}

type Asked = RouteParsed<typeof contract.tools.fetch>['body'];

/** A copy that is at most so old answers (design: tools, Fetch). */
const cachedMs = 15 * 60_000;
/** The server has 15 s of it; the rest is for a turn and for reading. */
const mostMs = 20_000;

/** What stands before the first colon of an address; that of `example.com:8080` is a name. */
const hasScheme = /^[a-z][a-z\d+-]*:/i;
const whole = 'must be a whole address, such as https://example.com/page';

/** Fetches a public page and reads its content. */
export const fetch = (parts: Parts) =>
  operation(contract.tools.fetch, async (context, { body }) =>
    useTool(context, 'fetch', async () => {
      if (!hasScheme.test(body.url)) throw badRequest(`url: ${whole}`, { url: [whole] });
      try {
        return await read(context, parts, body);
      } catch (error) {
        throw failureOf(error);
      }
    }),
  );

async function read({ actor, clock, signal }: Context, { pages, rules }: Parts, asked: Asked) {
  const { url, format, max_chars: maxChars } = asked;
  const began = clock.monotonic();
  const judgement = await rules.for(actor.accountId);
  const judge = (hop: URL): void => {
    if (judgement.refuses('fetch', hop))
      throw new ApiError('forbidden', 'a rule of this platform forbids this address; ask its operator');
  };
  const request = { owner: actor.accountId, url, maxAgeMs: cachedMs, judge };
  const { page, cached, result } = await within(clock, signal, async (limited) =>
    pages.render({ ...request, signal: limited }, { format, maxChars }),
  );
  return {
    url,
    final_url: page.url,
    title: page.title,
    byline: page.byline,
    description: page.description,
    canonical: page.canonical,
    lang: page.lang,
    content_type: page.content_type,
    content: result.content,
    ...(page.needs_script && { empty_reason: 'needs_javascript' as const }),
    chars: result.chars,
    truncated: page.truncated || result.truncated,
    took_ms: Math.round(clock.monotonic() - began),
    cached,
  };
}

/** Does the work, its wait for a turn included, in the time that a fetch has. */
async function within<T>(clock: Clock, caller: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const cancel = clock.after(mostMs, () => limit.abort(new OutboundError('timeout', 'in all')));
  try {
    return await work(AbortSignal.any([caller, limit.signal]));
  } finally {
    cancel();
  }
}

const unread = {
  unsupported: 'this is no page with text: html, text, json, xml and pdf are read',
  unreadable: 'the page is broken and cannot be read',
  too_hard: 'the page takes too long or too much memory to read',
};

/** The error for the caller. A refusal tells nothing about the address (design: tools, Fetch). */
function failureOf(error: unknown): unknown {
  if (error instanceof OutboundError && error.kind === 'refused')
    return badRequest(error.message, { url: [error.message] });
  if (error instanceof UnreadableError) return new ApiError('upstream_error', unread[error.kind]);
  if (isFaultOfServer(error)) return new ApiError('upstream_error', (error as Error).message);
  return error;
}
