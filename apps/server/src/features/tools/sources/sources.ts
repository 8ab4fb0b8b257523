import { wordsFor } from '@svc/contract';
import { z } from 'zod';
import { ConfigError, environmentValue } from '../../../config.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import {
  followProviders,
  type ProvidersPlace,
  providersPath,
  readProvidersText,
} from '../../../kernel/outside/providers.ts';
import { createUpstream } from '../../../kernel/outside/upstream.ts';
import type { Pages } from '../../pages/index.ts';
import { brave } from './brave.ts';
import { ownIndex } from './own-index.ts';
import { mediawiki } from './mediawiki.ts';
import { searxng } from './searxng.ts';
import type { Source, SourceSettings } from './source.ts';

type Make = (kernel: Pick<Kernel, 'upstream'>, settings: SourceSettings) => Source;

/** Every kind of remote source. */
const kinds = { mediawiki, searxng, brave } satisfies Record<string, Make>;

const name = z.string().min(1).max(120);
const source = z.strictObject({
  id: z.string().regex(/^[a-z0-9_-]{1,40}$/, 'must be lower-case letters, digits, - and _'),
  kind: z.enum(Object.keys(kinds) as [keyof typeof kinds, ...(keyof typeof kinds)[]]),
  base_url: z
    .string()
    .regex(/^https?:\/\/[^\s/]+/, 'must be an address such as https://search.example.com')
    .optional(),
  api_key_env: name.optional(),
});
const file = z.looseObject({ search: z.array(source).max(10).optional() });

/** Without a list of the operator's: a live source that needs no key, so that a fresh install finds things. */
const byDefault = [{ id: 'wikipedia', kind: 'mediawiki' as const }];

/** Reads the remote sources of a providers file; throws with the first fault. */
function parseSources(kernel: Pick<Kernel, 'upstream'>, text: string | undefined): Source[] {
  const parsed = file.safeParse(text === undefined ? {} : JSON.parse(text), { error: wordsFor });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
  }
  const given: z.output<typeof source>[] = parsed.data.search ?? byDefault;
  const ids = given.map(({ id }) => id);
  if (new Set(['index', ...ids]).size <= ids.length) throw new Error('search: two have the same id, or one is index');
  return given.map(({ id, kind, base_url: baseUrl, api_key_env: env }) => {
    const apiKey = env === undefined ? undefined : environmentValue(env);
    if (env !== undefined && !apiKey) throw new Error(`search ${id}: the environment has no ${env}`);
    return kinds[kind](kernel, { id, baseUrl: baseUrl?.replace(/\/+$/, ''), apiKey });
  });
}

/** The sources of this process: the index, and those of the providers file, which is read again when it changes. */
export class Sources {
  readonly #kernel: Kernel;
  readonly #index: Source;
  #remote: Source[] = [];

  constructor(kernel: Kernel, pages: Pages) {
    this.#kernel = kernel;
    this.#index = ownIndex(pages);
  }

  /** Follows the file; with one that cannot be used the sources of before go on, and the log says why. Answers how to end it. */
  start(): () => void {
    return followProviders(this.#kernel, (text) => {
      this.#remote = parseSources(this.#kernel, text);
    });
  }

  get all(): Source[] {
    return [this.#index, ...this.#remote];
  }
}

/** Throws `ConfigError` when the file's sources cannot be used: a start says so, and does not run without what it names. */
export function checkSources(place: ProvidersPlace): void {
  try {
    parseSources({ upstream: createUpstream() }, readProvidersText(place));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`SVC_PROVIDERS: ${providersPath(place)}: ${code ?? message}`);
  }
}
