import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { makeBadge } from './heartbeats.badges.ts';

export const createAccountBadge = operation(contract.heartbeats.createAccountBadge, (context) =>
  makeBadge(context, 'heartbeats.createAccountBadge', null),
);
