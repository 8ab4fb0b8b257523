import { environmentSizes, wordsFor } from '@svc/contract';
import { z } from 'zod';
import type { Clock } from '../../kernel/base/clock.ts';
import { LaneKey } from '../providers/index.ts';

/** Sizes of a machine at a provider. */
export type MachineSize = (typeof environmentSizes)[number];
/** A provider whose machines environments may have. */
type ManagedProvider = 'managed_a' | 'managed_b';

/** Kinds of providers: whose environments they serve, and what holds unless the file says otherwise. */
const kinds = {
  hetzner: {
    provider: 'managed_b',
    region: 'nbg1',
    image: 'debian-13',
    sizes: { small: 'cx22', medium: 'cx32', large: 'cx42' },
  },
  ec2: {
    provider: 'managed_a',
    region: 'eu-east-1',
    image: undefined,
    sizes: { small: 't3.small', medium: 't3.medium', large: 't3.large' },
  },
} satisfies Record<string, KindDefaults>;
interface KindDefaults {
  provider: ManagedProvider;
  /** Of an environment that names none (document 3, Environment). */
  region: string;
  image: string | undefined;
  sizes: Record<MachineSize, string>;
}
type CloudKind = keyof typeof kinds;

const name = z.string().min(1).max(120);
const plain = z.string().regex(/^[\w.-]{1,60}$/, 'must be letters, digits, ., - and _');

const entry = z.strictObject({
  id: z.string().regex(/^[a-z0-9_-]{1,40}$/, 'must be lower-case letters, digits, - and _'),
  kind: z.enum(Object.keys(kinds) as [CloudKind, ...CloudKind[]]),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  token_env: name.optional(),
  token_file: z.string().min(1).max(4_096).optional(),
  region: plain.optional(),
  region_as: plain.optional(),
  sizes: z.partialRecord(z.enum(environmentSizes), plain).default({}),
  image: plain.optional(),
  subnet: plain.optional(),
});
const file = z.looseObject({ environments: z.array(entry).max(20).default([]) });

/** A provider of machines, in one of its regions. */
export interface CloudEntry {
  id: string;
  kind: CloudKind;
  provider: ManagedProvider;
  /** Without a slash at its end. */
  baseUrl: string;
  key: LaneKey;
  /** As callers name it. */
  region: string;
  /** As the provider does. */
  regionThere: string;
  types: Record<MachineSize, string>;
  image: string;
  subnet: string | undefined;
}

/** The region of an environment that names none. */
export const usualRegion = (provider: ManagedProvider): string | undefined =>
  Object.values<KindDefaults>(kinds).find((kind) => kind.provider === provider)?.region;

/** Reads the providers of machines in a providers file; throws with its first fault. */
export function parseClouds(text: string | undefined, clock: Pick<Clock, 'monotonic'>): CloudEntry[] {
  const parsed = file.safeParse(text === undefined ? {} : JSON.parse(text), { error: wordsFor });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
  }
  const entries = parsed.data.environments.map((given) => toEntry(given, clock));
  if (new Set(entries.map(({ id }) => id)).size < entries.length) throw new Error('environments: two have the same id');
  const places = entries.map(({ provider, region }) => `${provider} ${region}`);
  if (new Set(places).size < places.length)
    throw new Error('environments: two are of one kind and region; the region of an environment chooses between them');
  return entries;
}

function toEntry(given: z.output<typeof entry>, clock: Pick<Clock, 'monotonic'>): CloudEntry {
  const { id, kind, token_env: env, token_file: path, sizes, subnet } = given;
  const defaults: KindDefaults = kinds[kind];
  const region = given.region ?? defaults.region;
  const regionThere = given.region_as ?? region;
  const image = given.image ?? defaults.image;
  const fault =
    env === undefined && path === undefined
      ? 'token_env or token_file: is required'
      : image === undefined
        ? 'image: is required, such as ami-0123456789abcdef0'
        : subnet !== undefined && kind !== 'ec2'
          ? 'subnet: is for ec2 alone'
          : undefined;
  if (fault !== undefined) throw new Error(`environments ${id}: ${fault}`);
  return {
    id,
    kind,
    provider: defaults.provider,
    baseUrl: (given.base_url ?? addressOf(kind, regionThere)).replace(/\/+$/, ''),
    key: new LaneKey({ env, file: path, field: 'token_file', commandMs: 0 }, clock),
    region,
    regionThere,
    types: { ...defaults.sizes, ...sizes },
    image: image ?? '',
    subnet,
  };
}

const addressOf = (kind: CloudKind, region: string): string =>
  kind === 'hetzner' ? 'https://api.hetzner.cloud/v1' : `https://ec2.${region}.amazonaws.com`;
