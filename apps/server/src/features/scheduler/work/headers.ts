import { withoutPartial } from '@svc/contract';
import type { Sealed } from '../../../kernel/base/crypto.ts';
import { type Headers, holdsHidden } from '../../../kernel/base/hidden.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { findSealedHeaders, openSpec, sealedScheduleHeaders } from '../../schedules/index.ts';
import type { OutboundAnswer } from '../../../kernel/outside/outbound.ts';
import { findSpec } from './specs.sql.ts';
import type { RunRow } from '../scheduler.sql.ts';

/** Header values that a run of an http schedule carries until it is over. */
export const sealedRunHeaders: Sealed = { ...sealedScheduleHeaders, table: 'scheduler.runs' };

/**
 * The spec of a run with its header values opened; call it right before the request. A run made by a gateway of an earlier
 * version has no values of its own; those of its schedule count. Undefined when the run is over meanwhile.
 */
export async function openRunSpec(
  { sql, keyring, gateways }: Pick<Kernel, 'sql' | 'keyring' | 'gateways'>,
  run: RunRow,
): Promise<Record<string, unknown> | undefined> {
  const spec = await findSpec(sql, run);
  if (!spec) return undefined;
  const headers = spec['headers'] as Headers | undefined;
  const lacksOwn = run.kind === 'http' && run.sealed_headers === null && headers !== undefined && holdsHidden(headers);
  const sealed = lacksOwn ? await findSealedHeaders(sql, run.schedule_id) : run.sealed_headers;
  await gateways.prove();
  return openSpec(keyring, { kind: run.kind, spec, sealed_headers: sealed });
}

/** Common headers that hold no secret: an answer may contain their values by chance. */
const plainHeaders = /^(?:accept|accept-encoding|accept-language|content-type|user-agent)$/i;
/** Shorter values occur by chance. */
const shortestSecret = 4;

/**
 * An answer without the header values that were sent: if a server echoes them, readers of runs must not see them. Each value is
 * replaced by its name in brackets, both as it is and as JSON spells it.
 */
export function withoutValues({ body, truncated }: Answer, headers: Headers): Buffer {
  const values = Object.entries(headers)
    .filter(([name]) => !plainHeaders.test(name))
    // `Bearer …`: what follows the scheme is the secret.
    .flatMap(([name, value]) => [value, value.split(' ').at(-1) ?? ''].map((each) => ({ name, value: each.trim() })))
    .filter(({ value }) => value.length >= shortestSecret)
    .flatMap(({ name, value }) => spellingsOf(value).map((spelling) => ({ name, spelling })))
    .sort((a, b) => b.spelling.length - a.spelling.length);
  // Byte by byte: an answer need not be text.
  let text = body.toString('latin1');
  for (const { name, spelling } of values) {
    text = text.replaceAll(spelling, `[${name}]`);
    // It may have been cut in the middle of one.
    if (truncated) text = withoutBeginning(text, spelling);
  }
  const plain = Buffer.from(text, 'latin1');
  return truncated ? withoutPartial(plain) : plain;
}

/** `text` without the beginning of a value that it ends with. */
function withoutBeginning(text: string, value: string): string {
  for (let n = value.length - 1; n >= shortestSecret; n -= 1)
    if (text.endsWith(value.slice(0, n))) return text.slice(0, -n);
  return text;
}

type Answer = Pick<OutboundAnswer, 'body' | 'truncated'>;

const spellingsOf = (value: string): string[] => [
  ...new Set(
    [value, JSON.stringify(value).slice(1, -1)].flatMap((each) => [each, Buffer.from(each).toString('latin1')]),
  ),
];
