import { badRequest } from '../../kernel/http/errors.ts';
import type { Keyring, Sealed } from '../../kernel/crypto.ts';
import { type Headers, hide, holdsHidden, keepHidden } from '../../kernel/hidden.ts';
import type { Definition } from './schedules.sql.ts';

/** Header values of http schedules. A run copies them as they are sealed: the purpose is the same. */
export const sealedScheduleHeaders: Sealed = {
  purpose: 'schedule-headers',
  table: 'schedules.schedules',
  column: 'sealed_headers',
};

/** What may have headers: a schedule, or a run. */
export type WithHeaders = Pick<Definition, 'kind' | 'spec'> & { sealed_headers: Buffer | null };

/** The headers that a spec names; undefined for another kind of work, or none. */
function headersOf({ kind, spec }: Pick<Definition, 'kind' | 'spec'>): Headers | undefined {
  return kind === 'http' ? (spec['headers'] as Headers | undefined) : undefined;
}

/** Seals the header values of a definition; its `spec` keeps their names. */
export function sealHeaders(keyring: Keyring, definition: Definition): Definition {
  const headers = headersOf(definition);
  if (!headers) return { ...definition, sealed_headers: null };
  const sealed = keyring.seal(sealedScheduleHeaders, Buffer.from(JSON.stringify(headers)));
  return { ...definition, spec: hiddenSpec(definition), sealed_headers: sealed };
}

/** A spec as it is answered: names of headers, no values. */
export function hiddenSpec(work: Pick<Definition, 'kind' | 'spec'>): Record<string, unknown> {
  const headers = headersOf(work);
  return headers ? { ...work.spec, headers: hide(headers) } : work.spec;
}

/** A spec with its header values. What is not hidden was written by a gateway of an earlier version, and counts. */
export function openSpec(keyring: Keyring, work: WithHeaders): Record<string, unknown> {
  const headers = headersOf(work);
  if (!headers || !holdsHidden(headers)) return work.spec;
  const stored = work.sealed_headers ? keyring.open(sealedScheduleHeaders, work.sealed_headers).toString() : '{}';
  const values = keepHidden(headers, JSON.parse(stored) as Headers, (message) => new Error(`headers: ${message}`));
  return { ...work.spec, headers: values };
}

/**
 * A definition whose hidden header values are those of the stored spec. Throws 400 where there is none, and for another
 * server: a value is not sent where it was not meant for.
 */
export function keepHeaders(definition: Definition, stored: Pick<Definition, 'kind' | 'spec'> | undefined): Definition {
  const headers = headersOf(definition);
  if (!headers || !holdsHidden(headers)) return definition;
  const isSame = stored?.kind === 'http' && originOf(stored) === originOf(definition);
  const known = isSame ? (headersOf(stored) ?? {}) : {};
  const refuse = (message: string) => badRequest(`spec: headers: ${message}`, { spec: [`headers: ${message}`] });
  return { ...definition, spec: { ...definition.spec, headers: keepHidden(headers, known, refuse) } };
}

const originOf = ({ spec }: Pick<Definition, 'spec'>): string => new URL(spec['url'] as string).origin;
