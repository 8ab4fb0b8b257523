import {
  type Dialect,
  type GoogleAccount,
  isObject,
  type Reshaping,
  signAws,
  signGoogle,
  textOf,
} from '@svc/inference';
import { z } from 'zod';
import type { Clock } from '../../kernel/base/clock.ts';

const name = z.string().min(1).max(120);
/** Fields that carry a request's meaning, or keep it within a key's cap: a provider that lacks these cannot be a lane. */
const needed =
  /^(?:model|messages|input|stream|n|tools|max_tokens|max_completion_tokens|max_output_tokens|max_tool_calls)$/;
const needless = name.refine((field) => !needed.test(field), { error: 'is what svc cannot leave out' });
const fixed = name.refine((field) => !/^(?:model|messages|input|stream|tools)$/.test(field), {
  error: 'has one name everywhere',
});

/** The parts of its protocol that a model takes, where its name suggests the wrong ones (`docs/providers.md`). */
export const modelDialect = z.strictObject({
  thinking: z.enum(['budget', 'adaptive', 'always', 'none']).optional(),
  sampling: z.boolean().optional(),
  limit: z.enum(['max_tokens', 'max_completion_tokens', 'both']).optional(),
  stop: z.boolean().optional(),
  forced_tools: z.boolean().optional(),
  signatures: z.literal('google').optional(),
  system_turns: z.boolean().optional(),
  rename: z.record(fixed, name).optional(),
  drop: z.array(needless).optional(),
});
type ModelDialect = z.output<typeof modelDialect>;

/** The same, and how the lane's requests are sent. */
export const laneDialect = modelDialect.extend({
  auth_header: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,60}$/, 'is a header in lower case, such as api-key')
    .optional(),
  query: z.record(name, z.string().max(500)).optional(),
  signer: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('aws'), region: name, service: name.default('bedrock') }),
      z.strictObject({ kind: z.literal('google') }),
    ])
    .optional(),
});
type LaneDialect = z.output<typeof laneDialect>;

/** A request as it goes out: its headers are in lower case. */
interface Outgoing {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodySha256: () => string;
}

/** How the requests of a lane are sent. */
export interface Wire {
  /** A URL of the lane with its query. */
  urlOf: (url: string) => URL;
  /** The headers that carry a key, before the body is known. Throws for a key that does not read as the signer's. */
  authorize: (key: string) => Record<string, string>;
  /** The headers that sign a request; undefined for a lane whose key goes as it is. */
  sign: ((key: string, request: Outgoing) => Record<string, string>) | undefined;
}

export function toWire(given: LaneDialect | undefined, usualHeader: string, clock: Pick<Clock, 'now'>): Wire {
  const { auth_header: header = usualHeader, query = {}, signer } = given ?? {};
  const carried = (key: string) => ({ [header]: header === 'authorization' ? `Bearer ${key}` : key });
  return {
    urlOf(text) {
      const url = new URL(text);
      for (const [field, value] of Object.entries(query)) url.searchParams.set(field, value);
      return url;
    },
    authorize(key) {
      if (signer?.kind === 'google') return carried(signGoogle(readGoogle(key), clock.now()));
      return signer === undefined ? carried(key) : {};
    },
    sign:
      signer?.kind !== 'aws'
        ? undefined
        : (key, { method, url, headers, bodySha256 }) => {
            const request = { method, url, headers, bodySha256: bodySha256(), at: clock.now() };
            return signAws({ ...request, region: signer.region, service: signer.service }, readAws(key));
          },
  };
}

/** Fields of a model's requests that its provider knows by another name, or not at all; undefined for none. */
export function toReshaping(...given: (ModelDialect | undefined)[]): Reshaping | undefined {
  const rename = Object.assign({}, ...given.map((one) => one?.rename)) as Record<string, string>;
  const drop = given.flatMap((one) => one?.drop ?? []);
  return drop.length === 0 && Object.keys(rename).length === 0 ? undefined : { rename, drop };
}

/** The fields of a dialect that the file sets. */
export function toDialect(given: ModelDialect | undefined): Partial<Dialect> {
  const {
    thinking,
    sampling,
    limit,
    stop,
    forced_tools: forcedTools,
    signatures,
    system_turns: systemTurns,
  } = given ?? {};
  const written = { thinking, sampling, limit, stop, forcedTools, signatures, systemTurns };
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined));
}

/** `ID:SECRET`, `ID:SECRET:TOKEN`, or what `aws configure export-credentials` prints. No message repeats any of it. */
export function readAws(key: string) {
  const given = readObject(key);
  const [id, secret, ...token] = key.split(':');
  const accessKeyId = given ? textOf(given['AccessKeyId']) : id;
  const secretAccessKey = given ? textOf(given['SecretAccessKey']) : secret;
  const sessionToken = given ? textOf(given['SessionToken']) : token.join(':') || undefined;
  if (!accessKeyId || !secretAccessKey)
    throw new Error('its key is none of AWS: ID:SECRET, or the JSON of the aws command');
  return { accessKeyId, secretAccessKey, sessionToken };
}

/** The file of a service account. */
function readGoogle(key: string): GoogleAccount {
  const given = readObject(key) ?? {};
  const [email, keyId, privateKey] = ['client_email', 'private_key_id', 'private_key'].map((field) =>
    textOf(given[field]),
  );
  if (!email || !keyId || !privateKey) throw new Error('its key is no service account of Google');
  return { email, keyId, privateKey };
}

function readObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
