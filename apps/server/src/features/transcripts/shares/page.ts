import { SHARE_PAGE_POLICY, sharePageNotFound } from '@svc/documents';
import { type Locale, localeOf } from '@svc/words';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { RawRoute } from '../../../kernel/feature.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { TranscriptPool } from '../work/pool.ts';
import { checkVisitor, openShare } from './public.ts';

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': SHARE_PAGE_POLICY,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
};

/** The page of a shared transcript, `{hub_url}/t/<token>`, without script; there before there is a hub. */
export function sharePage({ config }: Pick<Kernel, 'config'>, pool: TranscriptPool): RawRoute {
  return {
    prefix: `${new URL(config.hubUrl).pathname.replace(/\/+$/, '')}/t/`,
    async open({ request, response, rest, address, kernel }) {
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.writeHead(405, { ...headers, allow: 'GET, HEAD' }).end();
        return;
      }
      const locale = localeOf(request.headers['accept-language']);
      const { status, html, more = {} } = await pageOf(kernel, pool, rest, { address, locale });
      response.writeHead(status, { ...headers, ...more, 'content-length': Buffer.byteLength(html) });
      response.end(request.method === 'HEAD' ? undefined : html);
    },
  };
}

/** The answer; of a link that leads nowhere the same one, whatever the reason. */
async function pageOf(
  kernel: Kernel,
  pool: TranscriptPool,
  token: string,
  { address, locale }: { address: string; locale: Locale },
): Promise<{ status: number; html: string; more?: Record<string, string> }> {
  try {
    await checkVisitor(kernel, address);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.status, html: sharePageNotFound(locale), more: error.headers ?? {} };
  }
  const shared = await openShare(kernel, token);
  if (!shared) return { status: 404, html: sharePageNotFound(locale) };
  const { shown, accountId } = shared;
  const html = await pool.do(accountId, {
    kind: 'page',
    document: {
      title: shown.title,
      startedAt: new Date(shown.started_at),
      durationMs: shown.duration_ms ?? 0,
      language: shown.language,
      locale: shared.locale,
      speakers: shown.speakers,
      utterances: shown.utterances.map(({ speaker, start_ms: startMs, end_ms: endMs, text }) => ({
        speaker,
        startMs,
        endMs,
        text,
      })),
      summary: shown.summary,
      keyPoints: shown.key_points.map(({ text }) => text),
      actions: shown.actions,
      expiresAt: shown.expiresAt === null ? null : new Date(shown.expiresAt),
    },
  });
  return { status: 200, html };
}
