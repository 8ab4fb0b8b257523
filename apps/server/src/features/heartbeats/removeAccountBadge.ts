import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { endBadge } from './heartbeats.badges.ts';

export const removeAccountBadge = operation(contract.heartbeats.removeAccountBadge, (context) =>
  endBadge(context, 'heartbeats.removeAccountBadge', null),
);
