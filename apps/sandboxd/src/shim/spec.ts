import type { Egress, EgressPreset } from '@svc/sandboxd-api';

/** The hosts and ports that the machine's operator lets sandboxes reach at all. */
export interface EgressRules {
  /** Hosts whose addresses are not judged. */
  allowHosts: string[];
  ports: number[];
  /** The hosts that a preset stands for. */
  presets: Record<EgressPreset, string[]>;
}

/** Parameters of a shim for its sandbox; one line of JSON on its standard input. */
export interface ShimSpec {
  /** Socket that the shim listens on. */
  socket: string;
  /** Where it writes why it ended. */
  ended: string;
  /** Takes what the runtime and the agent write on standard error. */
  log: string;
  expiresAt: number;
  egress: Egress;
  rules: EgressRules;
}

/** Why a shim's sandbox ended. */
export interface ShimEnd {
  reason: 'expired' | 'stopped' | 'exited';
  code: number | null;
  signal: string | null;
}
