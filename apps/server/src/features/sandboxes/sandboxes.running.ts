import { type NodeClient, NodeFailure } from '@svc/sandboxd-api';
import type { Who } from '../../kernel/records/audit.ts';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { ArtifactGone, type ArtifactSource } from '../artifacts/index.ts';
import { notRunning } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { findSandbox, insertAudit, type SandboxRow } from './sandboxes.sql.ts';

/** On whose behalf files are moved. */
export type Mover = Pick<Context, 'kernel' | 'actor' | 'by'>;

/** A sandbox of the caller's that runs, and the node that holds it. */
interface Running {
  row: SandboxRow;
  node: NodeClient;
  /** Writes a line of the audit log about it. */
  audit: (action: string, detail?: object) => Promise<void>;
}

/** Finds a sandbox of the caller's that runs; 404 for what is not theirs, 409 for one that does not run. */
export async function runningSandbox({ kernel, actor, by }: Mover, nodes: Nodes, id: string): Promise<Running> {
  const { sql } = kernel;
  const { accountId } = actor;
  const row = await findSandbox(sql, accountId, id);
  if (!row) throw notFound('sandbox');
  if (row.state !== 'running') throw notRunning();
  return {
    row,
    node: await nodes.reach(row.node_id),
    audit: (action, detail = {}) => insertAudit(sql, { accountId, by, sandboxId: id, action, detail }),
  };
}

const mostOutputBytes = ({ config }: Kernel): number => config.sandboxes.workspaceMb * 1024 ** 2;
/** Where the files that a sandbox hands out are (document 3). */
const outputDirectory = 'out';

const tooMuch = (most: number): ApiError =>
  new ApiError('workspace_too_large', `the files under /workspace/out are over ${most / 1024 ** 2} MiB; remove some`);

/** The output files of a sandbox: every regular file under /workspace/out, and how each is read and scanned. */
export async function outputsOf(
  kernel: Kernel,
  node: NodeClient,
  sandbox: { accountId: string; id: string; by: Who },
): Promise<{ source: ArtifactSource; paths: string[] }> {
  const { accountId, id, by } = sandbox;
  const entries = await node.listFiles(id, outputDirectory, true);
  const files = entries.filter(({ type }) => type === 'file');
  // By what they say they hold: a file with holes may say terabytes, and would be stored as that.
  const most = mostOutputBytes(kernel);
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > most) throw tooMuch(most);
  // Code inside may put another file in the place of one that was counted.
  let left = most;
  const paths = files.map(({ path }) => path);
  if (paths.length > 0) {
    await insertAudit(kernel.sql, { accountId, by, sandboxId: id, action: 'artifacts', detail: { paths } });
  }
  return {
    paths,
    source: {
      accountId,
      sandboxId: id,
      open: async (path) => {
        try {
          const { bytes, body } = await node.readFile(id, path);
          left -= bytes;
          if (left >= 0) return body;
          body.destroy();
          throw tooMuch(most);
        } catch (error) {
          const isGone = error instanceof NodeFailure && ['not_found', 'bad_request'].includes(error.code);
          throw isGone ? new ArtifactGone(path) : error;
        }
      },
      scan: async (body) => (await node.scan(body)).verdict,
    },
  };
}
