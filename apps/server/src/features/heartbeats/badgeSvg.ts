import { Readable } from 'node:stream';
import { contract } from '@svc/contract';
import { Answer, operation } from '../../kernel/feature.ts';
import { drawBadge, readBadge } from './heartbeats.badges.ts';

/** A name is its owner's, and stands under the platform's address here: whatever it holds, no browser runs it. */
export const badgeSvg = operation(contract.heartbeats.badgeSvg, async (context, { params }) => {
  const bytes = Buffer.from(drawBadge(await readBadge(context, params.badge_token)));
  return new Answer(Readable.from([bytes]), {
    headers: {
      'content-type': 'image/svg+xml; charset=utf-8',
      'content-length': String(bytes.length),
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    },
  });
});
