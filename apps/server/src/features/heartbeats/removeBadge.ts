import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { endBadge } from './heartbeats.badges.ts';

export const removeBadge = operation(contract.heartbeats.removeBadge, (context, { params }) =>
  endBadge(context, 'heartbeats.removeBadge', params.id),
);
