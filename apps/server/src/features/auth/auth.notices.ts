import { randomUUID } from 'node:crypto';
import type { Words } from '@svc/words';
import type { NewNotice, NoticeText } from '../notifications/index.ts';

/** What happened to how a person signs in. */
export type Notice =
  | { type: 'login.new'; device: string; network: string }
  | { type: 'login.address_taken'; before: string; email: string }
  | { type: 'login.recovered'; network: string }
  | { type: 'connection.added'; app: string; host: string | null }
  | { type: 'connection.stolen'; app: string }
  | { type: 'passkey.added'; name: string }
  | { type: 'password.changed' };

/** The notification of it. Each is one of its own: two alike within a minute are two events. */
export function noticeOf(accountId: string, notice: Notice): NewNotice {
  const { type } = notice;
  const dedupeKey = `${type}:${randomUUID()}`;
  return { accountId, type, severity: 'warning', dedupeKey, says: ({ signIns }) => textOf(notice, signIns) };
}

type TextsOf = {
  [T in Notice['type']]: (notice: Extract<Notice, { type: T }>, words: Words['alerts']['signIns']) => NoticeText;
};

const texts: TextsOf = {
  'login.new': ({ device, network }, words) => ({ title: words.new(device), body: words.newText(network) }),
  'login.recovered': ({ network }, words) => ({ title: words.recovered, body: words.recoveredText(network) }),
  'login.address_taken': ({ before, email }, words) => ({
    title: words.addressTaken(before),
    body: words.addressTakenText(email),
  }),
  'connection.added': ({ app, host }, words) => ({
    title: words.connected(app),
    body: host === null ? words.connectedText : words.connectedAt(host),
  }),
  'connection.stolen': ({ app }, words) => ({ title: words.stolen(app), body: words.stolenText }),
  'password.changed': (_, words) => ({ title: words.password, body: words.passwordText }),
  'passkey.added': ({ name }, words) => ({ title: words.passkey, body: words.passkeyText(name) }),
};

const textOf = (notice: Notice, words: Words['alerts']['signIns']): NoticeText =>
  (texts[notice.type] as (notice: Notice, words: Words['alerts']['signIns']) => NoticeText)(notice, words);
