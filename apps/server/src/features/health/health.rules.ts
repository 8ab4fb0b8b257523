import { wordsFor } from '@svc/contract';
import { z } from 'zod';

/** A provider of any kind as the file lists it; each feature reads the further fields of its own kinds. */
const entry = z.looseObject({
  id: z.string().min(1),
  kind: z.string().min(1),
  label: z.string().optional(),
  base_url: z.url().optional(),
});

/** The providers file (setting `SVC_PROVIDERS`): lists of providers by use; `aliases` maps names to ids of lanes, in order. */
const providersFile = z.strictObject({
  lanes: z.array(entry).default([]),
  aliases: z.record(z.string(), z.array(z.string())).default({}),
  speech: z.array(entry).default([]),
  search: z.array(entry).default([]),
  mail: z.array(entry).default([]),
  push: z.array(entry).default([]),
  /** Not probed: a look at every machine says how its provider does. */
  environments: z.array(entry).default([]),
});

/** A configured provider. */
export interface Provider {
  id: string;
  kind: string;
  label: string;
  baseUrl: string | undefined;
}

/** Model aliases, always there (document 1, Health records). */
export const aliases = ['svc', 'svc-fast', 'svc-embed'];

/** Parses the file's text; throws with the first fault. */
export function parseProviders(text: string): Provider[] {
  const file = providersFile.safeParse(JSON.parse(text), { error: wordsFor });
  if (!file.success) {
    const issue = file.error.issues[0];
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
  }
  const { lanes, speech, search, mail, push } = file.data;
  return [...lanes, ...speech, ...search, ...mail, ...push].map((provider) => ({
    id: provider.id,
    kind: provider.kind,
    label: provider.label ?? provider.id,
    baseUrl: provider.base_url,
  }));
}
