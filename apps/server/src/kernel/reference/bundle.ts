import type { BuildOptions, OutputFile } from 'esbuild';

const builds = { running: 0 };

/** Bundles for other machines; esbuild's own process serves builds that run side by side and ends with the last. */
export async function bundle(options: BuildOptions): Promise<OutputFile[]> {
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
