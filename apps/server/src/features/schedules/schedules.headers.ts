import { badRequest } from '../../kernel/base/errors.ts';
import { BrokenSeal, type Keyring, type Sealed } from '../../kernel/base/crypto.ts';
import { type Headers, hide, holdsHidden, keepHidden } from '../../kernel/base/hidden.ts';
import { effective } from './schedules.rules.ts';
import type { Definition } from './schedules.sql.ts';

/** Header values of http schedules. A run copies them as they are sealed: the purpose is the same. */
export const sealedScheduleHeaders: Sealed = {
  purpose: 'schedule-headers',
  table: 'schedules.schedules',
  column: 'sealed_headers',
};

/** A schedule or a run: both may have headers. */
type WithHeaders = Pick<Definition, 'kind' | 'spec'> & { sealed_headers: Buffer | null };

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
  // Without any that are sealed, `***` is a value as any other.
  if (!headers || !holdsHidden(headers) || !work.sealed_headers) return work.spec;
  const stored = keyring.open(sealedScheduleHeaders, work.sealed_headers).toString();
  const values = keepHidden(headers, JSON.parse(stored) as Headers, (message) => new Error(`headers: ${message}`));
  return { ...work.spec, headers: values };
}

const refused = (message: string) => badRequest(`spec.headers: ${message}`, { 'spec.headers': [message] });

/** The same for a change of the schedule. Throws 400 for values that cannot be opened, unless the change brings its own. */
export function openForChange(
  keyring: Keyring,
  stored: WithHeaders,
  changes: Record<string, unknown>,
): Record<string, unknown> {
  try {
    return openSpec(keyring, stored);
  } catch (error) {
    if (!(error instanceof BrokenSeal)) throw error;
    if (keepsStored(changes))
      throw refused('what is stored cannot be opened any more; send the spec with its headers anew');
    return stored.spec;
  }
}

/** Whether a change of an http schedule leaves stored header values as they are. */
function keepsStored({ spec }: Record<string, unknown>): boolean {
  if (spec === undefined) return true;
  return holdsHidden(((spec as Definition['spec'])['headers'] ?? {}) as Headers);
}

/**
 * Throws 400 when stored header values would go to machines that they were not meant for: a caller who may change where a
 * schedule runs, but not read its secrets, must not have them handed to a machine of their own.
 */
export function checkPlace(definition: Definition, stored: Definition, changes: Record<string, unknown>): void {
  if (!headersOf(definition) || Object.keys(headersOf(stored) ?? {}).length === 0 || !keepsStored(changes)) return;
  const place = placeOf(definition);
  if (place === undefined || place === placeOf(stored)) return;
  throw refused(
    'this schedule is to run on another machine; send its spec with the values of headers that are for there',
  );
}

/** Where a schedule runs besides the cloud, which hands values to nobody. */
function placeOf(definition: Definition): string | undefined {
  const { target } = effective(definition);
  const { native, failover } = definition;
  const isCloud = target.type === 'cloud' && native !== true && (failover ?? []).length === 0;
  return isCloud ? undefined : JSON.stringify([target, native === true, failover ?? []]);
}

/**
 * A definition with the stored spec's values for its hidden headers. Throws 400 when no value is stored, and for another server:
 * a value is sent only where it was meant for.
 */
export function keepHeaders(definition: Definition, stored: Pick<Definition, 'kind' | 'spec'> | undefined): Definition {
  const headers = headersOf(definition);
  if (!headers || !holdsHidden(headers)) return definition;
  const isSame = stored?.kind === 'http' && originOf(stored) === originOf(definition);
  const known = isSame ? (headersOf(stored) ?? {}) : {};
  return { ...definition, spec: { ...definition.spec, headers: keepHidden(headers, known, refused) } };
}

const originOf = ({ spec }: Pick<Definition, 'spec'>): string => new URL(spec['url'] as string).origin;
