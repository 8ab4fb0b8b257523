import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { meOf } from './me.view.ts';

export const get = operation(contract.me.get, (context) => meOf(context));
