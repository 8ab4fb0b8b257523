import type { BuildOptions, OutputFile } from 'esbuild';
import { leaveClosedFolder } from '../base/working-folder.ts';

const builds = { running: 0 };

/** Bundles for other machines; esbuild's own process serves builds that run side by side and ends with the last. */
export async function bundle(options: BuildOptions): Promise<OutputFile[]> {
  // It starts its process in the folder that this one was in when it was loaded.
  leaveClosedFolder();
  const { build, stop } = await import('esbuild');
  builds.running += 1;
  try {
    const common = { bundle: true, format: 'esm', logLevel: 'silent' } as const;
    return (await build({ ...common, ...options, write: false })).outputFiles;
  } finally {
    builds.running -= 1;
    if (builds.running === 0) await stop();
  }
}
