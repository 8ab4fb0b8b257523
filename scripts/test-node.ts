import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join, resolve } from 'node:path';
import { testedProgram } from '../packages/programs/src/testing.ts';

/** Where root file systems of sandboxes are kept between test runs: building one takes minutes. */
const testImages = '/var/cache/svc/images';
const sandboxd = (): string => testedProgram(resolve(import.meta.dirname, '../apps/sandboxd/src/main.ts'));

let building: ChildProcess | undefined;

/** Ends a build that is under way, and what it started. */
export function endBuild(): void {
  building?.kill('SIGTERM');
}

/** Builds those images that are missing. A machine that can run sandboxes must: their tests are not left out. */
export async function buildImages(templates: readonly string[], systemPackages: boolean): Promise<void> {
  const flags = ['--dir', testImages, ...(systemPackages ? [] : ['--no-system-packages'])];
  for (const template of templates) {
    building = spawn(process.execPath, [sandboxd(), 'images', 'build', template, ...flags], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    hurry(building);
    const [code] = await once(building, 'exit');
    building = undefined;
    if (code !== 0) throw new Error(`the image ${template} was not built (see above)`);
  }
}

/** Many tests wait for a build, which yields to whatever else runs unless it is told not to. */
function hurry({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, -5);
  } catch {
    // A container may forbid it, to root too.
  }
}

/**
 * Builds the first image where it is missing and starts the sandbox node that the tests share; `SVC_TEST_SANDBOXD` names its
 * socket, `SVC_TEST_IMAGES` the images, `SVC_TEST_GOLDEN` what it has made of them for a warm start. Answers what is missing
 * where the machine cannot run sandboxes.
 */
export async function startTestNode(
  systemPackages: boolean,
): Promise<{ close(): Promise<void> } | { missing: string }> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    return { missing: 'sandboxes (Linux and root: sudo npm test)' };
  }
  await buildImages(['svc-base'], systemPackages);
  process.env['SVC_TEST_IMAGES'] = testImages;
  const { startNode } = await import('../apps/server/src/features/sandboxes/sandboxes.testing.ts');
  const { until } = await import('../apps/server/src/testing.ts');
  const node = await startNode({ images: testImages, args: ['--log-level', 'warn'] });
  process.env['SVC_TEST_SANDBOXD'] = node.socket;
  const golden = join(node.dir, 'golden');
  try {
    await until(() => existsSync(golden) && readdirSync(golden).some((name) => !name.endsWith('.new')));
  } catch (error) {
    await node.close();
    throw error;
  }
  process.env['SVC_TEST_GOLDEN'] = golden;
  return node;
}
