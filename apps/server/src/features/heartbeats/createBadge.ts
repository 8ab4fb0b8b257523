import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { makeBadge } from './heartbeats.badges.ts';

export const createBadge = operation(contract.heartbeats.createBadge, (context, { params }) =>
  makeBadge(context, 'heartbeats.createBadge', params.id),
);
