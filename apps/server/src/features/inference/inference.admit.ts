import { createHash } from 'node:crypto';
import { isObject, objectsOf, textOf, type Value } from '@svc/inference';
import type { Actor } from '../../kernel/base/actor.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Choice } from '../providers/index.ts';
import { findStored, insertStored } from './inference.sql.ts';

/** Fields that hold the client's own words, and schemas of its tools: a `model` inside them names no model. */
const words = new Set(['model', 'messages', 'input', 'system', 'instructions', 'metadata']);
const schemas = new Set(['parameters', 'input_schema', 'schema']);
const namesModel = /^(?:\w+_)?models?$|^fallbacks$/;

/** Refuses a field beside `model` that names a model which the key may not use: some providers go to that one then. */
export function checkModels({ models, spendCapMicroUsd: cap }: Actor, body: Value): void {
  if (models === undefined && cap === undefined) return;
  const open = Object.entries(body).filter(([name]) => !words.has(name));
  for (let next = open.pop(); next; next = open.pop()) {
    const [name, value] = next;
    if (schemas.has(name)) continue;
    if (namesModel.test(name)) refuseUnless(models, name, Array.isArray(value) ? (value as unknown[]) : [value]);
    if (Array.isArray(value)) open.push(...objectsOf(value).flatMap((one) => Object.entries(one)));
    else if (isObject(value)) open.push(...Object.entries(value));
  }
}

function refuseUnless(models: readonly string[] | undefined, field: string, named: readonly unknown[]): void {
  const strange = named.find((one): one is string => typeof one === 'string' && !models?.includes(one));
  if (strange === undefined) return;
  throw new ApiError('forbidden', `${field}: this key may not use the model ${strange.slice(0, 120)}`);
}

/** The lanes that may get a request, by its fields; throws 400 when none may. */
export function admitted(body: Value, choices: readonly Choice[]): Choice[] {
  let refused = '';
  const may = choices.filter(({ lane }) => {
    const field = lane.forbid.find((name) => isSet(body[name])) ?? unallowed(body, lane.allow);
    refused ||= field ?? '';
    return field === undefined;
  });
  if (may.length > 0 || choices.length === 0) return may;
  const why = `${refused}: no lane of this model takes it here`;
  throw badRequest(why, { [refused.split('.')[0] ?? refused]: ['is refused'] });
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** A field of work or data that stays at the provider under the operator's key: its charge is a guess, and accounts share it. */
function unallowed(body: Value, allow: readonly string[]): string | undefined {
  if (body['background'] === true && !allow.includes('background')) return 'background';
  if (allow.includes('stored')) return undefined;
  if (isSet(body['conversation'])) return 'conversation';
  if (typeof body['container'] === 'string') return 'container';
  const lists = ['messages', 'input', 'tools'];
  return lists.find((name) => refersToFiles(body[name]));
}

const references = /^(?:file_id|file_ids|vector_store_ids|container)$/;

function refersToFiles(value: unknown): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (Array.isArray(one)) for (const part of one as unknown[]) open.push(part);
    else if (isObject(one)) {
      for (const [name, part] of Object.entries(one)) {
        const isId = typeof part === 'string' || (Array.isArray(part) && typeof part[0] === 'string');
        if (isId && references.test(name)) return true;
        if (name !== 'parameters' && name !== 'input_schema' && name !== 'function') open.push(part);
      }
    }
  }
  return false;
}

const mostIds = 100;
/** Of a response, and of what stands in it. */
function idsOf(response: Value): string[] {
  const items = objectsOf(response['output']).flatMap(({ id }) => textOf(id) ?? []);
  return [textOf(response['id']) ?? '', ...items].filter((id) => id !== '').slice(0, mostIds);
}

/** Ids that a request of responses goes on from. */
const idsAsked = (body: Value): string[] => [
  ...(textOf(body['previous_response_id']) === undefined ? [] : [body['previous_response_id'] as string]),
  ...objectsOf(body['input']).flatMap(({ type, id }) => (type === 'item_reference' ? (textOf(id) ?? []) : [])),
];

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex');

/** The lane that keeps what a request goes on from; throws 404 for what is not the account's. */
export async function storedWith(
  { sql }: Pick<Kernel, 'sql'>,
  { accountId }: Pick<Actor, 'accountId'>,
  body: Value,
  choices: readonly Choice[],
): Promise<readonly Choice[]> {
  const ids = [...new Set(idsAsked(body))];
  if (ids.length === 0) return choices;
  const rows = await findStored(sql, accountId, ids.map(hashOf));
  const lanes = new Set(rows.map(({ lane }) => lane));
  const own = choices.filter(({ lane }) => lanes.has(lane.id));
  const [first = ''] = ids;
  if (rows.length === ids.length && own.length > 0) return own;
  const message = `no response ${first.slice(0, 80)} of this account; send the whole conversation as input`;
  throw new ApiError('not_found', message);
}

/** Keeps whose the ids of a response are. */
export async function keepStored(
  { sql, clock, log }: Pick<Kernel, 'sql' | 'clock' | 'log'>,
  { accountId }: Pick<Actor, 'accountId'>,
  lane: string,
  response: Value,
): Promise<void> {
  const ids = idsOf(response);
  if (ids.length === 0) return;
  try {
    await insertStored(sql, clock, { accountId, lane, ids: ids.map(hashOf) });
  } catch (err) {
    // Its client must have the answer; it cannot go on from it.
    log.warn({ err }, 'whose a stored response is was not kept');
  }
}
