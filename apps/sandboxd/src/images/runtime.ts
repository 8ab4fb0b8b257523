import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { NodeError } from '../error.ts';
import type { Runtime } from '../parts.ts';
import { runOk } from '../run.ts';
import { hasCommand } from '../system-packages.ts';
import { debianMirror } from './mirror.ts';
import { applyPatch, epollPatch, type RuntimePatch } from './runtime-patch.ts';

/** A release of gVisor's `runsc`: where it is below a Debian mirror, and what it must be. */
interface RuntimePin {
  path: string;
  debSha256: string;
  runscSha256: string;
  /** The change that is made in it. */
  patch?: RuntimePatch;
}

const pool = 'pool/main/g/golang-gvisor-gvisor/runsc_0.0~20240729.0-4+b7';

/** Debian trixie's. Bookworm's 20221219 breaks `ls`, checkpoints with an overlay, and leave-running. */
const runtimePins: Readonly<Partial<Record<string, RuntimePin>>> = {
  x64: {
    path: `${pool}_amd64.deb`,
    debSha256: '3c25a5130dfac2f71237d5baad56ac86a255de87a0400f11b36a555156dc325a',
    runscSha256: 'ce52e04038baa76d6069afae5fc1bee60c153bbf0276f2c3c25506553526f38f',
    patch: epollPatch,
  },
  arm64: {
    path: `${pool}_arm64.deb`,
    debSha256: '8e13e0625a094f962da3edcaf81ab0ed779726b6335e385a8148919f2c217c8e',
    runscSha256: '5ca3024e8ccdbeee6c50a088563f7182699c4d13f40936a7faa47a6b172b9fc5',
  },
};

interface RuntimeOptions {
  /** Where it is kept. */
  dir: string;
  /** Debian mirror; default the one apt uses. */
  mirror?: string | undefined;
  /** Default: of this machine's processor. */
  pin?: RuntimePin | undefined;
}

/** The pinned `runsc`, fetched on the first use; a `runsc` of the system is never used. */
export function createRuntime(options: RuntimeOptions): Runtime {
  const pin = options.pin ?? runtimePins[process.arch];
  let found: Promise<string> | undefined;
  return {
    runsc() {
      if (process.platform !== 'linux' || pin === undefined) {
        const here = `${process.platform} ${process.arch}`;
        return Promise.reject(
          new NodeError('sandbox_capacity', `gVisor runs on Linux x64 and arm64 only, not ${here}`),
        );
      }
      found ??= obtain(options, pin).catch((error: unknown) => {
        found = undefined;
        throw error;
      });
      return found;
    },
  };
}

async function obtain({ dir, mirror }: RuntimeOptions, pin: RuntimePin): Promise<string> {
  const named = (hash: string): string => join(dir, `runsc-${hash.slice(0, 16)}`);
  const wanted = pin.patch?.sha256 ?? pin.runscSha256;
  const runsc = named(wanted);
  // 30 MB take 60 ms; a file cut short by a full disk or a power cut is fetched anew.
  if ((await sha256(runsc)) === wanted) return runsc;
  await mkdir(dir, { recursive: true });
  for (const name of await readdir(dir)) {
    if (name.startsWith('.runsc-')) await rm(join(dir, name), { recursive: true, force: true });
  }
  const work = join(dir, `.runsc-${randomUUID()}`);
  await mkdir(work, { mode: 0o700 });
  try {
    const deb = join(work, 'runsc.deb');
    const binary = join(work, 'usr/bin/runsc');
    // A version before left it there as Debian has it.
    const plain = named(pin.runscSha256);
    if ((await sha256(plain)) === pin.runscSha256) {
      await mkdir(dirname(binary), { recursive: true });
      await copyFile(plain, binary);
    } else {
      await fetchDeb(dir, mirror, pin, deb);
      await unpack(deb, work);
    }
    if ((await sha256(binary)) !== pin.runscSha256) throw new Error('the unpacked runsc is not the pinned one');
    if (pin.patch) await applyPatch(binary, pin.patch);
    if ((await sha256(binary)) !== wanted) throw new Error('the patched runsc is not the pinned one');
    await rename(binary, runsc);
    return runsc;
  } catch (error) {
    if (error instanceof NodeError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new NodeError('sandbox_capacity', `cannot unpack gVisor's runtime: ${reason}`, { cause: error });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function fetchDeb(dir: string, mirror: string | undefined, pin: RuntimePin, deb: string): Promise<void> {
  const name = basename(pin.path);
  const byHand = join(dir, name);
  const hint = `put ${name} (Debian trixie, sha256 ${pin.debSha256}) at ${byHand}`;
  const refuse = (reason: string, cause?: unknown) =>
    new NodeError('sandbox_capacity', `cannot get gVisor's runtime: ${reason}; ${hint}`, { cause });
  if ((await sha256(byHand)) === pin.debSha256) return pipeline(createReadStream(byHand), createWriteStream(deb));
  const from = mirror ?? (await debianMirror());
  if (from === undefined) throw refuse('apt on this machine has no Debian mirror');
  try {
    const answer = await fetch(`${from}/${pin.path}`, { signal: AbortSignal.timeout(180_000) });
    if (!answer.ok || !answer.body) throw new Error(`the Debian mirror answers ${answer.status}`);
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(deb));
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error), error);
  }
  if ((await sha256(deb)) !== pin.debSha256) throw refuse('the Debian mirror gave a file with another hash');
}

async function unpack(deb: string, into: string): Promise<void> {
  if (hasCommand('dpkg-deb')) {
    await runOk('dpkg-deb', ['-x', deb, into]);
    return;
  }
  await runOk('sh', ['-c', 'ar p "$1" data.tar.xz | tar -xJ -C "$2" ./usr/bin/runsc', 'sh', deb, into]);
}

async function sha256(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
  } catch {
    return undefined;
  }
  return hash.digest('hex');
}
