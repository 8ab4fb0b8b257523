import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { KeyLookup } from '../keys/index.ts';
import { serveResolve } from './resolve.serve.ts';

/** The place of the resolve service, which is another product (document 1, What the service does). */
export function resolveFeature({ config }: Kernel, lookup: KeyLookup): Feature {
  const base = new URL(config.resolveUrl).pathname.replace(/\/$/, '');
  if (base === '') return { name: 'resolve', operations: {} };
  return { name: 'resolve', operations: {}, raw: [{ prefix: `${base}/`, open: (one) => serveResolve(lookup, one) }] };
}
