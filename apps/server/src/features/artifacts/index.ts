import type { contract, RouteOutput } from '@svc/contract';
import type { Manifest } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { ArtifactGone, type ArtifactSource, deleteOfAccount, storeArtifact } from './artifacts.collect.ts';
import { linkOf } from './artifacts.link.ts';
import type { ArtifactRow } from './artifacts.sql.ts';
import { hasArtifacts } from './artifacts.sql.ts';

export { ArtifactGone, type ArtifactSource, checkRoom } from './artifacts.collect.ts';
export { attachment, openLink } from './artifacts.link.ts';

/** An artifact as the API shows it. */
type Artifact = RouteOutput<typeof contract.sandboxes.artifacts>['data'][number];

/** Stores the files of a sandbox by path, one after the other; one that is gone meanwhile is left out. */
export async function collect(kernel: Kernel, source: ArtifactSource, paths: readonly string[]): Promise<Artifact[]> {
  const artifacts: Artifact[] = [];
  for (const path of paths) {
    try {
      artifacts.push(await collectOne(kernel, source, path));
    } catch (error) {
      if (!(error instanceof ArtifactGone)) throw error;
    }
  }
  return artifacts;
}

/** Stores one file of a sandbox; throws `ArtifactGone`. */
export async function collectOne(kernel: Kernel, source: ArtifactSource, path: string): Promise<Artifact> {
  return viewOf(kernel, await storeArtifact(kernel, source, path));
}

function viewOf(kernel: Kernel, row: ArtifactRow): Artifact {
  const { expires_at, ...shown } = row;
  return {
    ...shown,
    ...(row.scan === 'clean' && { url: linkOf(kernel, row) }),
    expires_at: new Date(expires_at).toISOString(),
  };
}

/** The feature without a running platform. */
export const artifactsManifest: Manifest = {
  name: 'artifacts',
  hasBlobs: hasArtifacts,
  data: {
    tables: [],
    async end(parts, { accountId }) {
      const { deleted, left } = await deleteOfAccount(parts, accountId);
      return { deleted: { 'artifacts.artifacts': deleted }, left: { 'artifacts.artifacts': left } };
    },
  },
};
