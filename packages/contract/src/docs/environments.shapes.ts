import { samples } from './samples.ts';

const at = '2026-11-02T09:00:00.000Z';

/** An environment that waits for a machine. */
export const exampleEnvironment = {
  id: samples.environment,
  projectId: samples.project,
  ownerUserId: samples.account,
  orgId: null,
  forUserId: null,
  for_user_id: null,
  isolation: 'shared_vm',
  name: 'Workstation',
  slug: 'shop-k7m2',
  provider: 'byo' as const,
  region: null,
  size: null,
  state: 'pending' as const,
  stateReason: null,
  deviceId: null,
  providerRef: null,
  publicIp: null,
  idleTimeoutMinutes: 30,
  lastActivityAt: null,
  startedAt: null,
  stoppedAt: null,
  hourlyRateMicroEur: null,
  includedHoursUsedSeconds: 0,
  metadata: {},
  createdAt: at,
  updatedAt: at,
};

/** Its owner among its members. */
export const exampleOwner = {
  user_id: samples.account,
  role: 'owner' as const,
  email: 'ana@example.com',
  name: 'Ana',
  linux_username: 'ana',
  port_range_start: 20_000,
  ssh_public_key: false,
  provisioned_at: null,
  created_at: at,
  accepted_at: at,
  agreed_to_own: true,
};

/** A port that its members and those of its organisation reach. */
export const examplePort = {
  id: '5e4d3c2b-1a09-4f8e-8d7c-6b5a49382716',
  environmentId: samples.environment,
  port: 3_000,
  protocol: 'http' as const,
  label: 'web',
  visibility: 'org' as const,
  openedByUserId: samples.account,
  createdAt: at,
  updatedAt: at,
};

/** That it was made. */
export const exampleEvent = {
  id: 1,
  environmentId: samples.environment,
  actorUserId: samples.account,
  actorKind: 'user' as const,
  kind: 'created',
  payload: { provider: 'byo', state: 'pending', slug: 'shop-k7m2' },
  createdAt: at,
};
