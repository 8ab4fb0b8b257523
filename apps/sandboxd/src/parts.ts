import type { Readable } from 'node:stream';
import type { FileEntry, ImageStatus, Scanned, Template, WrittenFile } from '@svc/sandboxd-api';

/** The user that commands run as, inside. */
export const guestUid = 1000;

/** A root file system that is ready to start from. */
export interface Image {
  template: Template;
  /** `sha256:<hex>`. */
  digest: string;
  /** Directory of the root file system; never written to. */
  rootfs: string;
}

/** The images of this machine: built from recipes, kept by content. */
export interface Images {
  status(): ImageStatus[];
  /** The image, if it is ready now. */
  get(template: Template): Image | undefined;
  /**
   * The image, once it is ready: starts a missing build and waits up to `waitMs`; then throws
   * `sandbox_capacity` that tells how far it is.
   */
  ready(template: Template, waitMs: number): Promise<Image>;
  /** Builds it now, or joins the build under way. `onProgress` hears every change. */
  build(template: Template, onProgress?: (status: ImageStatus) => void): Promise<Image>;
  /** Writes one that a paused sandbox was started from to a file, and takes it in under the same digest. */
  exportKept(digest: string, file: string): Promise<void>;
  importKept(digest: string, file: string): Promise<Image>;
}

/** The directories that are `/workspace` inside. */
export interface Workspaces {
  /** Where the directory of `id` is. */
  path(id: string): string;
  /** Where that is which its user installs, beside it and within its limit; undefined for one of a release without that. */
  local(id: string): string | undefined;
  /** Makes an empty one that belongs to `uid` (0700) and cannot grow over the limit; with `out` inside. */
  create(id: string, uid: number): Promise<string>;
  /** Makes `to` a copy of `from`, with owners, modes and times; shares blocks where the file system can. */
  clone(from: string, to: string): Promise<string>;
  /** Removes it with whatever is in it; nothing happens when it is gone. */
  remove(id: string): Promise<void>;
  /** Its use now, in bytes and in files. */
  usage(id: string): Promise<{ bytes: number; inodes: number }>;
  /** Whether it is over 2 GiB (spec: `workspace_too_large`), or has too many files, after a command of `tookMs`. */
  isTooLarge(id: string, tookMs: number): Promise<boolean>;
  /** Limits of one workspace. */
  most: { bytes: number; inodes: number };
  /** Whether the file system stops a workspace at its limit of bytes. */
  limited: boolean;
  /** Whether the file system leaves a limit to us, so that somebody has to look while a command runs. */
  isWatched: boolean;
  /** Begins to look: the answer tells, each time it is asked, whether the workspace grew over its limits since. */
  watch(id: string): () => Promise<boolean>;
  list(): Promise<string[]>;
  close(): Promise<void>;
}

/** Limits of one sandbox. */
export interface Limits {
  memoryBytes: number;
  /** Processes and threads of the host. */
  pids: number;
  /** Cores, 0.5 for half of one. */
  cpus: number;
}

/** One control group, in every hierarchy that limits. */
export interface ControlGroup {
  /** Runs first in a process that is to be inside: `sh` text that moves `$$` there. Empty where there are no groups. */
  enter: string;
  memoryBytes(): Promise<number>;
  processes(): Promise<number[]>;
  /** How often its memory limit ended a process. */
  oomKills(): Promise<number>;
  /** Lets every process inside stand still, or go on; nothing happens where there is no version 2 tree. */
  freeze(still: boolean): Promise<void>;
  /** Ends every process inside with SIGKILL and waits until they are gone. */
  kill(): Promise<void>;
  /** Kills, then removes the group. */
  remove(): Promise<void>;
}

export interface ControlGroups {
  /** Makes the group of `id`, or opens it when it is there. */
  open(id: string, limits: Limits): Promise<ControlGroup>;
  list(): Promise<string[]>;
}

/** Files below a workspace that code inside may change at any time: no path leads out of it, whatever links it has. */
export interface Files {
  /** Writes a file once its body is whole; one that is there and may be written to stays the same file. */
  write(
    root: string,
    path: string,
    body: Readable,
    options: {
      uid: number;
      readOnly: boolean;
      mostBytes: number;
      /**
       * Has watchers inside hear of the file at a path below the workspace: a fresh one by renaming it from `from`. False
       * when nothing was done.
       */
      announce?: ((path: string, from?: string) => Promise<boolean>) | undefined;
    },
  ): Promise<WrittenFile>;
  /**
   * Opens a regular file for reading, also behind links that stay inside; throws `not_found` for anything else, and
   * `workspace_too_large` for a file over the limit.
   */
  read(root: string, path: string): Promise<{ bytes: number; body: Readable }>;
  list(root: string, path: string): Promise<FileEntry[]>;
  /** Every regular file below `path`, links not followed; `[]` when there is no such directory. */
  walk(root: string, path: string): Promise<FileEntry[]>;
  /**
   * The regular files below `path` that changed at or after `sinceMs` (ctime), hashed; what is more than a workspace
   * holds, all together, is left out. Rejects when `signal` is aborted.
   */
  changed(
    root: string,
    path: string,
    sinceMs: number,
    signal?: AbortSignal,
  ): Promise<{ path: string; sha256: string; bytes: number }[]>;
  /** Whether anything below `root` changed at or after `sinceMs` (ctime). */
  hasChanged(root: string, sinceMs: number): Promise<boolean>;
  /** The workspace as a tar stream. */
  archive(root: string): Readable;
}

export interface Scanner {
  scan(body: Readable): Promise<Scanned>;
  close(): Promise<void>;
}

/** Where the gVisor runtime is; throws `sandbox_capacity` with what to do where it cannot run. */
export interface Runtime {
  /** Path of the pinned `runsc`, unpacked and checked against its hash. */
  runsc(): Promise<string>;
}
