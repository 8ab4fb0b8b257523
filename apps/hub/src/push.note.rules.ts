import { isAllowedAction } from '@svc/contract/actions';

/** What a push holds: a Declarative Web Push message, and what our worker needs beside it. */
export interface PushMessage {
  notification?: { title?: unknown; body?: unknown; navigate?: unknown; tag?: unknown };
  svc?: { id?: unknown; type?: unknown; actions?: unknown; subscription?: unknown; over?: unknown };
}

/** Texts of notifications, which come without the page. */
export interface NoteWords {
  title: string;
  actions: Record<string, string>;
  done: string;
  decided: string;
  refused: string;
  stored: string;
}

/** Browsers show two buttons at most. */
const mostButtons = 2;
/** Buttons that help where nobody sees the page; the others stand in the page alone. */
const asButtons: readonly string[] = ['approve', 'skip', 'rerun', 'pause', 'resume', 'archive'];

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** The tag of notifications that a push withdraws; undefined for one that tells something. */
export const withdrawnBy = ({ notification = {}, svc = {} }: PushMessage): string | undefined =>
  svc.over === true ? textOf(notification.tag) : undefined;

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** The request that says that a push came; undefined for one that only withdraws another, or names no browser. */
export function arrivalOf({ svc = {} }: PushMessage): { path: string; body: string } | undefined {
  const [id, subscription] = [textOf(svc.id), textOf(svc.subscription)];
  if (svc.over === true || id === undefined || subscription === undefined) return undefined;
  if (!uuid.test(id) || !uuid.test(subscription)) return undefined;
  return {
    path: `/v1/push/subscriptions/${subscription}/delivered`,
    body: JSON.stringify({ notification_id: id }),
  };
}

/** The page of the hub that a push leads to. The push may call this server by another name than the browser does. */
const pageOf = (actions: readonly { id: string; path?: unknown }[]): string | undefined =>
  textOf(actions.find(({ id }) => id === 'open')?.path)?.replace(/^\/+/, '');

/** The status of an answer to a button; 422 for a success that did nothing, such as a run that may not be made now. */
export const statusOf = (status: number, body: unknown): number =>
  status < 300 && (body as { queued?: unknown } | null | undefined)?.queued === false ? 422 : status;

/** A notification as the browser shows it. Acts that are not on the list have no button. */
export function noteOf(
  { notification = {}, svc = {} }: PushMessage,
  words: NoteWords,
): { title: string; options: object } {
  const all = Array.isArray(svc.actions) ? (svc.actions as { id: string }[]).filter(isAllowedAction) : [];
  const buttons = all.filter(({ id }) => asButtons.includes(id)).slice(0, mostButtons);
  const [body, tag] = [notification.body, notification.tag].map(textOf);
  const navigate = pageOf(all) ?? textOf(notification.navigate);
  return {
    title: textOf(notification.title) ?? words.title,
    options: {
      ...(body !== undefined && { body }),
      // What is over takes the place of its alarm in silence.
      ...(tag !== undefined && { tag, ...(svc.over !== true && { renotify: true }) }),
      ...(svc.over === true && { silent: true }),
      data: { id: textOf(svc.id), navigate, actions: all },
      actions: buttons.map(({ id }) => ({ action: id, title: words.actions[id] ?? id })),
    },
  };
}
