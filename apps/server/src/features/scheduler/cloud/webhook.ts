import { mostBytes, type parseSpec, perform } from '@svc/http-task';
import type { Kernel } from '../../../kernel/kernel.ts';
import { OutboundError } from '../../../kernel/outside/outbound.ts';

/** A timer may be some milliseconds before the clock that says how much is left. */
const almostOverMs = 100;

/** Does an http spec from here, to public addresses; its time counts for the whole, redirects included. */
export async function callWebhook(
  { clock, outbound }: Pick<Kernel, 'clock' | 'outbound'>,
  spec: ReturnType<typeof parseSpec>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<{ ok: boolean; error?: string | undefined; text: string }> {
  const until = clock.monotonic() + timeoutMs;
  const left = (): number => Math.max(0, until - clock.monotonic());
  try {
    return await perform(spec, async ({ url, body, ...hop }) => {
      const { status, headers, ...kept } = await outbound.request(url, {
        ...hop,
        ...(body !== undefined && { body }),
        protocols: ['https:'],
        timeoutMs: left(),
        headersTimeoutMs: timeoutMs,
        idleTimeoutMs: timeoutMs,
        maxBytes: mostBytes,
        redirects: 0,
        signal,
      });
      return { ...kept, status, location: headers.location };
    });
  } catch (error) {
    // As a host says it.
    if (error instanceof OutboundError && error.kind === 'timeout' && left() < almostOverMs)
      return { ok: false, error: 'timeout', text: '' };
    throw error;
  }
}
