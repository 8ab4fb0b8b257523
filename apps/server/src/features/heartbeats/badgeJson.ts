import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { readBadge } from './heartbeats.badges.ts';

export const badgeJson = operation(contract.heartbeats.badgeJson, async (context, { params }) => ({
  schemaVersion: 1 as const,
  ...(await readBadge(context, params.badge_token)),
}));
