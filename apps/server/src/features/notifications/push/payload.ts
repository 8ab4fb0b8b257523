import type { notification } from '@svc/contract';
import type { Words } from '@svc/words';
import type { z } from 'zod';
import { cut } from '../notifications.rules.ts';

/** What a push tells, as the API shows it, and what is told only here. */
interface Pushed {
  record: z.output<typeof notification>;
  /** The browser that it goes to, for its word that it came. */
  subscription: string;
  /** A later push with the same tag replaces this one on the screen. */
  tag: string;
  /** The page that opens. */
  navigate: string;
  /** Unread notifications of the account. */
  unread: number;
  /** Whoever looks at the locked screen learns nothing but what kind of thing happened. */
  hideContents: boolean;
  /** In the language of the account. */
  words: Words['alerts'];
  /** How its cause ended, in words: it takes the place of what is shown, without a sound. */
  over?: string;
}

/** A push service takes 4,096 bytes, of which encryption needs 103; some take less. */
const mostBytes = 3_500;

/**
 * The text for a browser: a Declarative Web Push message, which Safari shows by itself, and beside it what our service worker
 * needs for buttons. A text that is too long loses of its body first.
 */
export function pushPayload({
  record,
  subscription,
  tag,
  navigate,
  unread,
  hideContents,
  words,
  over,
}: Pushed): string {
  const { id, type, actions } = record;
  const title = hideContents ? plainTitle(type, words) : record.title;
  const textOf = (body: string): string =>
    JSON.stringify({
      web_push: 8030,
      notification: {
        title,
        ...(body !== '' && { body }),
        navigate,
        tag,
        ...(over !== undefined && { silent: true }),
        app_badge: unread,
      },
      // Where the standard has it now; Safari 18.4 reads it above.
      app_badge: unread,
      svc: { id, type, actions, subscription, ...(over !== undefined && { over: true }) },
    });
  const body = over ?? (hideContents ? '' : record.body);
  for (let most = body.length; ; most = Math.floor(most * 0.8)) {
    const text = textOf(most === body.length ? body : cut(body, most));
    if (Buffer.byteLength(text) <= mostBytes || most === 0) return text;
  }
}

const plainTitle = (type: string, { plain }: Words['alerts']): string => {
  const titles: Readonly<Record<string, string>> = plain;
  return titles[type] ?? titles[type.replace(/\..*$/, '')] ?? plain.other;
};
