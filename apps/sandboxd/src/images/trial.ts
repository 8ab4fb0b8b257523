import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishAgent } from '../drivers/agent.ts';
import { createBubblewrap } from '../drivers/bubblewrap.ts';
import type { Driver } from '../drivers/driver.ts';
import { createGvisor } from '../drivers/gvisor.ts';
import { createDecoder, encodeJson, frameType } from '../wire/frames.ts';
import { exited, lastLine } from '../run.ts';
import { readEnd } from '../wire/messages.ts';
import { createRuntime } from './runtime.ts';

/** A cold start with gVisor takes half a second; a slow disk reads the image for the first time. */
const trialMs = 120_000;
/** A user that owns nothing. */
const trialUid = 719_998;
const limits = { memoryBytes: 1_073_741_824, pids: 1_024, cpus: 1 };

/**
 * Starts one sandbox of a root file system and has its agent run Python, in whichever backend this machine can; throws
 * when that does not work. Answers why nothing was tried where no backend runs.
 */
export async function tryImage(rootfs: string, images: string): Promise<{ untried?: string }> {
  const place = await mkdtemp(join(tmpdir(), 'svc-trial-'));
  try {
    const drivers = [
      createBubblewrap(),
      createGvisor(createRuntime({ dir: join(images, 'runtime') }), join(place, 'runsc')),
    ];
    const reasons: string[] = [];
    for (const driver of drivers) {
      try {
        await driver.check();
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : String(error));
        continue;
      }
      await startOne(driver, rootfs, place);
      return {};
    }
    return { untried: reasons.join('; ') };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function startOne(driver: Driver, rootfs: string, place: string): Promise<void> {
  const [dir, workspace] = [join(place, 'live'), join(place, 'workspace')];
  // Search only: the sandbox is another user.
  await chmod(place, 0o711);
  await mkdir(workspace);
  const uid = process.getuid?.() === 0 ? trialUid : (process.getuid?.() ?? trialUid);
  if (process.getuid?.() === 0) await chown(workspace, uid, uid);
  const guest = (await publishAgent(join(place, 'guest'))).path;
  const instance = { id: `trial-${process.pid}`, dir, rootfs, workspace, guest, uid, limits, enter: '' };
  const [program = '', ...words] = await driver.create(instance);
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'], timeout: trialMs, killSignal: 'SIGKILL' });
  const ended = exited(child);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_096);
  });
  const answered = new Promise<number | null>((resolve) => {
    const hear = createDecoder(({ channel, type, payload }) => {
      if (channel === 1 && type === frameType.close) resolve(readEnd('exec', JSON.parse(payload.toString())).exit_code);
    });
    child.stdout.on('data', hear);
  });
  // It may end before it takes this.
  child.stdin.on('error', () => {});
  const request = { kind: 'exec', cmd: ['python3', '--version'], env: {}, timeout_ms: trialMs };
  child.stdin.write(encodeJson(1, frameType.open, request));
  const gone = ended.then(() => undefined);
  try {
    const code = await Promise.race([answered, gone]);
    if (code === 0) return;
    const why = code === undefined ? lastLine(said) || 'it ended at once' : `python3 ended with ${code}`;
    throw new Error(`no sandbox starts from this image on this machine (${process.arch}): ${why}`);
  } finally {
    // The agent ends with its input, and the sandbox with its agent.
    child.stdin.destroy();
    child.kill('SIGKILL');
    await ended.catch(() => {});
    await driver.destroy(instance);
  }
}
