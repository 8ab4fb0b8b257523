import type { Kernel } from '../../kernel/context.ts';
import type { Feature } from '../../kernel/feature.ts';
import { type Sandboxes, sandboxHeaders } from '../sandboxes/index.ts';
import { artifacts } from './artifacts.ts';
import { listFiles } from './listFiles.ts';
import { readFile } from './readFile.ts';
import { snapshot } from './snapshot.ts';
import { writeFile } from './writeFile.ts';

/** The files of sandboxes. */
export const workspacesFeature = (kernel: Kernel, sandboxes: Sandboxes): Feature => ({
  name: 'workspaces',
  headers: sandboxHeaders(kernel),
  operations: {
    writeFile: writeFile(sandboxes),
    readFile: readFile(sandboxes),
    listFiles: listFiles(sandboxes),
    artifacts: artifacts(sandboxes),
    snapshot: snapshot(sandboxes),
  },
});
