import { useEffect } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { ActionButtons } from '../../ui/ActionButtons.tsx';
import { Button } from '../../ui/Button.tsx';
import { Link } from '../../ui/Link.tsx';
import { Page } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { type Alert as Notification, useArchive } from './Alerts.tsx';

/** One alert, whole, with its buttons. Opening it marks it as read. */
export function Alert({ id }: { id: string }) {
  const words = useWords();
  const answer = useAnswer(
    ['notifications', id],
    async () => (await api.notifications.get({ params: { id } })).notification,
  );
  return (
    <Page title={answer.data?.title ?? words.alerts.title} back={{ to: '/notifications', label: words.alerts.title }}>
      <Answered answer={answer}>{(alert) => <Whole alert={alert} />}</Answered>
    </Page>
  );
}

function Whole({ alert }: { alert: Notification }) {
  const words = useWords();
  const [, go] = useLocation();
  const archive = useArchive(alert);
  useEffect(() => {
    if (alert.read_at === undefined)
      void api.notifications.update({ params: { id: alert.id }, body: { read: true } }).catch(() => {});
  }, [alert.id]);
  // The record says what it is about: its address may name this server by another name than this page.
  const href = alert.actions.find(({ id }) => id === 'open')?.path;
  const actions = alert.actions.filter(({ id }) => id !== 'read' && id !== 'archive');
  return (
    <div class="stack">
      <p class="hint">
        {words.alerts.severities[alert.severity]} · <Time at={alert.created_at} />
      </p>
      {alert.resolution !== undefined && alert.resolved_at !== undefined && (
        <p class="resolution">
          {words.alerts.resolutions[alert.resolution]} · <Time at={alert.resolved_at} />
        </p>
      )}
      <p class="body-text">{alert.body}</p>
      <div class="pair">
        <ActionButtons actions={actions} stale={['notifications', 'overview', 'scheduler', 'heartbeats']} />
        {href !== undefined && (
          <Link href={href} class="button plain">
            {words.open}
          </Link>
        )}
        {alert.archived_at === undefined && (
          <Button
            onPress={async () => {
              await archive();
              go('/notifications');
            }}
          >
            {words.actions.archive}
          </Button>
        )}
      </div>
    </div>
  );
}
