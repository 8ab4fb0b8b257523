import type {
  environmentEvent,
  environmentProviders,
  environmentRoles,
  environmentSizes,
  portVisibilities,
} from '@svc/contract';
import type { z } from 'zod';
import type { EnvironmentState } from './environments.states.ts';

export type EnvironmentRole = (typeof environmentRoles)[number];

/** An environment as it is stored. */
export interface EnvironmentRow {
  id: string;
  account_id: string;
  project_id: string;
  org_id: string | null;
  for_account_id: string | null;
  isolation: string;
  name: string;
  slug: string;
  provider: (typeof environmentProviders)[number];
  region: string | null;
  size: (typeof environmentSizes)[number] | null;
  state: EnvironmentState;
  state_reason: string | null;
  device_id: string | null;
  provider_ref: string | null;
  public_ip: string | null;
  idle_timeout_minutes: number;
  last_activity_at: string | null;
  started_at: string | null;
  stopped_at: string | null;
  hourly_rate_micro_eur: number | null;
  included_seconds_used: number;
  metadata: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  destroyed_at: string | null;
}

/** An environment, and the role of the caller in it. */
export type SeenEnvironment = EnvironmentRow & { role: EnvironmentRole };

/** Columns that change. */
export type EnvironmentChange = Partial<Omit<EnvironmentRow, 'id' | 'account_id' | 'metadata'>>;

/** A member with what accounts know of it. */
export interface MemberRow {
  environment_id: string;
  account_id: string;
  role: EnvironmentRole;
  linux_username: string;
  place: number;
  has_key: boolean;
  provisioned_at: string | null;
  created_at: string;
  /** Null: invited, and no member yet. */
  accepted_at: string | null;
  /** An owner by the word of others alone: has the rights, and the environment never becomes theirs. */
  is_unasked: boolean;
  email: string;
  name: string | null;
}

/** A published port. */
export interface PortRow {
  id: string;
  environment_id: string;
  port: number;
  protocol: 'http';
  label: string | null;
  visibility: (typeof portVisibilities)[number];
  opened_by: string | null;
  /** Who gave it the visibility that it has; null: a release before this one did, or they are deleted. */
  published_by: string | null;
  created_at: string;
  updated_at: string;
}

/** A line of what happened. */
export interface EventRow {
  id: number;
  environment_id: string;
  actor_id: string | null;
  actor_kind: z.input<typeof environmentEvent>['actorKind'];
  kind: string;
  payload: Record<string, unknown>;
  created_at: string;
}
