import type { Limits } from '../parts.ts';

/** One sandbox of this machine as a driver sees it; the id that callers use may be another. */
export interface Instance {
  /** Names its directory, its control group, its workspace and its container. */
  id: string;
  /** Its own directory, 0700. */
  dir: string;
  rootfs: string;
  workspace: string;
  /** Packages that its user installs, at `~/.local` inside; absent in a sandbox of an older release. */
  local?: string;
  /** Content-addressed copy of the guest agent. */
  guest: string;
  /** Owner of the workspace on the host. */
  uid: number;
  limits: Limits;
  /** Runs first in a process that is to be in its control group. */
  enter: string;
}

/** The part of a backend that differs. The shim and the agent do the rest, which is the same for all. */
export interface Driver {
  /** Makes it ready to start; answers the command that runs it in the foreground with the agent on its stdio. */
  create(instance: Instance): Promise<string[]>;
  /** The same from a snapshot. */
  restore(instance: Instance, snapshot: string): Promise<string[]>;
  /** Saves memory and processes into a new directory, which is complete and looked at when this settles; ends it or not. */
  checkpoint(instance: Instance, snapshot: string, leaveRunning: boolean): Promise<void>;
  /** Settles when no checkpoint of it is under way that a sandboxd began which is no more; at the latest after a minute. */
  settled(id: string): Promise<void>;
  /** Removes what the driver itself keeps of it; its processes are gone by then. */
  destroy(instance: Pick<Instance, 'id' | 'dir'>): Promise<void>;
  /** Version of the runtime: other versions cannot read its snapshots. */
  version(): Promise<string>;
  /** Throws `NodeError` that says what to do where it cannot run. */
  check(): Promise<void>;
}

/** Result of a command. */
export interface Ran {
  code: number | null;
  output: string;
}
