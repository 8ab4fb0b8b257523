import type {
  environment,
  environmentEvent,
  environmentInvitation,
  environmentMember,
  environmentPort,
  environmentSecret,
} from '@svc/contract';
import type { z } from 'zod';
import type { EnvironmentRow, EventRow, MemberRow, PortRow } from './environments.rows.ts';
import { printable } from '../../kernel/base/text.ts';
import type { WaitingInvitation } from './people/invitations.sql.ts';
import type { SecretRow } from './secrets/secrets.sql.ts';

/** Ports of a member begin here, and go on for a hundred. */
const firstPort = 20_000;
const portsEach = 100;

/** An environment as the API shows it (document 3, Environment). */
export const toEnvironment = (row: EnvironmentRow): z.input<typeof environment> => ({
  id: row.id,
  projectId: row.project_id,
  ownerUserId: row.account_id,
  orgId: row.org_id,
  forUserId: row.for_account_id,
  for_user_id: row.for_account_id,
  isolation: row.isolation,
  name: row.name,
  slug: row.slug,
  provider: row.provider,
  region: row.region,
  size: row.size,
  state: row.state,
  stateReason: row.state_reason,
  deviceId: row.device_id,
  providerRef: row.provider_ref,
  publicIp: row.public_ip,
  idleTimeoutMinutes: row.idle_timeout_minutes,
  lastActivityAt: row.last_activity_at,
  startedAt: row.started_at,
  stoppedAt: row.stopped_at,
  hourlyRateMicroEur: row.hourly_rate_micro_eur,
  includedHoursUsedSeconds: row.included_seconds_used,
  metadata: row.metadata,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** A member as lists show it (document 3, Member). */
export const toMember = (row: MemberRow): z.input<typeof environmentMember> => ({
  user_id: row.account_id,
  role: row.role,
  email: row.email,
  name: row.name,
  linux_username: row.linux_username,
  port_range_start: portRangeOf(row),
  ssh_public_key: row.has_key,
  provisioned_at: row.provisioned_at,
  created_at: row.created_at,
  accepted_at: row.accepted_at,
  ...agreement(row),
});

/** A member as a change of it is answered. */
export const toChangedMember = (row: MemberRow) => ({
  user_id: row.account_id,
  role: row.role,
  linux_username: row.linux_username,
  port_range_start: portRangeOf(row),
  accepted_at: row.accepted_at,
  ...agreement(row),
});

/** Of owners alone: whether they agreed to own it. */
const agreement = ({ role, accepted_at: at, is_unasked: isUnasked }: MemberRow): { agreed_to_own?: boolean } =>
  role === 'owner' && at !== null ? { agreed_to_own: !isUnasked } : {};

/** Characters of a text of a stranger's. */
const longestText = 120;

/** Text that a stranger chose: bounded, and it moves neither cursor nor the direction of others. */
export const stranger = (text: string): string => printable(text.slice(0, longestText));

/** An invitation as its person sees it. */
export const toInvitation = (row: WaitingInvitation): z.input<typeof environmentInvitation> => ({
  user_id: row.account_id,
  environment_id: row.environment_id,
  environment_name: stranger(row.environment_name),
  role: row.role,
  invited_by: { user_id: row.invited_by, email: stranger(row.email) },
  created_at: row.created_at,
});

const portRangeOf = ({ place }: Pick<MemberRow, 'place'>): number => firstPort + portsEach * place;

/** A published port (document 3, Port). */
export const toPort = (row: PortRow): z.input<typeof environmentPort> => ({
  id: row.id,
  environmentId: row.environment_id,
  port: row.port,
  protocol: row.protocol,
  label: row.label,
  visibility: row.visibility,
  openedByUserId: row.opened_by,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** A secret, by its name alone (document 3, Secret). */
export const toSecret = (row: SecretRow): z.input<typeof environmentSecret> => ({
  name: row.name,
  created_by_user_id: row.created_by,
  created_at: row.created_at,
  updated_at: row.updated_at,
});

/** What happened (document 3, Environment). */
export const toEvent = (row: EventRow): z.input<typeof environmentEvent> => ({
  id: row.id,
  environmentId: row.environment_id,
  actorUserId: row.actor_id,
  actorKind: row.actor_kind,
  kind: row.kind,
  payload: row.payload,
  createdAt: row.created_at,
});
