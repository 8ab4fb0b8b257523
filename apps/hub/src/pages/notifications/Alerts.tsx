import { useQueryClient } from '@tanstack/preact-query';
import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button, ButtonLink } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { PushOffer } from './PushOffer.tsx';

/** A notification of the API. */
export type Alert = Awaited<ReturnType<typeof api.notifications.list>>['notifications'][number];

/** The inbox, newest first. */
export function Alerts() {
  const words = useWords();
  const acts = useActs();
  const [params, setParams] = useSearchParams();
  const shown = params.get('show') ?? 'all';
  const answer = useRows<Alert>(['notifications', shown], async (cursor) => {
    const query = {
      ...(shown === 'unread' && { unread: 'true' as const }),
      ...(shown === 'archived' && { archived: 'true' as const }),
      limit: 100,
      ...(cursor !== undefined && { cursor }),
    };
    const { notifications, next_cursor: next } = await api.notifications.list({ query });
    return { rows: notifications, next };
  });
  const readAll = (): Promise<unknown> =>
    acts.run(async () => api.notifications.readAll({}), {
      done: words.alerts.allRead,
      stale: ['notifications', 'overview'],
    });
  const test = async (): Promise<void> => {
    const sent = await acts.run(async () => api.notifications.sendTest({}), { stale: ['notifications', 'overview'] });
    if (!sent) return;
    const placesWith = (outcome: 'delivered' | 'pending'): string =>
      [...new Set(sent.targets.flatMap((target) => (target.outcome === outcome ? [target.channel] : [])))].join(', ');
    const lost = sent.targets.filter((target) => !target.sent && target.outcome !== 'pending');
    acts.say(words.alerts.testSent(placesWith('delivered')));
    const pending = placesWith('pending');
    if (pending !== '') acts.say(words.alerts.testPending(pending));
    const placeOf = ({ channel, device_name: name }: (typeof lost)[number]): string =>
      name === undefined ? channel : `${channel} (${name})`;
    for (const why of new Set(lost.map((target) => words.alerts.testLost(placeOf(target), target.reason ?? ''))))
      acts.say(why, { isProblem: true });
  };
  return (
    <Page
      title={words.alerts.title}
      acts={
        <>
          <Button onPress={readAll}>{words.alerts.readAll}</Button>
          <Button onPress={test}>{words.alerts.test}</Button>
          <ButtonLink to="/notifications/settings">{words.alerts.settings}</ButtonLink>
        </>
      }
    >
      <PushOffer />
      <Filter
        label={words.alerts.title}
        value={shown}
        onChange={(value) => setParams(value === 'all' ? {} : { show: value }, { replace: true })}
        options={[
          ['all', words.all],
          ['unread', words.alerts.unread],
          ['archived', words.alerts.archived],
        ]}
      />
      <Rows
        answer={answer}
        label={words.alerts.title}
        row={(alert) => <AlertRow alert={alert} />}
        empty={<Empty>{shown === 'archived' ? words.alerts.emptyArchive : words.alerts.empty}</Empty>}
      />
      <div class="foot">
        <CurlButton path="/v1/notifications" />
      </div>
    </Page>
  );
}

const shapes = { critical: 'down', warning: 'warn', info: 'info' } as const;

function AlertRow({ alert }: { alert: Alert }) {
  const words = useWords();
  const archive = useArchive(alert);
  const isUnread = alert.read_at === undefined;
  return (
    <div class={isUnread ? 'row unread' : 'row'}>
      <Link href={`/notifications/${alert.id}`} class="row-link">
        {alert.resolution === undefined ? (
          <span class={`severity ${alert.severity}`} title={words.alerts.severities[alert.severity]}>
            <Icon name={shapes[alert.severity]} />
          </span>
        ) : (
          <span class="severity" title={words.alerts.resolutions[alert.resolution]}>
            <Icon name="check" />
          </span>
        )}
        <span class="row-main">
          <span class="row-title">{alert.title}</span>
          <span class="row-detail">
            {alert.resolution !== undefined && (
              <>
                <span class="resolution">{words.alerts.resolutions[alert.resolution]}</span> ·{' '}
              </>
            )}
            {alert.body}
          </span>
        </span>
        <Time at={alert.created_at} />
      </Link>
      {alert.archived_at === undefined && (
        <Button look="quiet" icon="check" isIconOnly onPress={archive}>
          {words.actions.archive}
        </Button>
      )}
    </div>
  );
}

/** Archives at once, with Undo. */
export function useArchive({ id }: Alert): () => Promise<void> {
  const words = useWords();
  const acts = useActs();
  const client = useQueryClient();
  const again = (): void => {
    void client.invalidateQueries({ queryKey: ['notifications'] });
    void client.invalidateQueries({ queryKey: ['overview'] });
  };
  const set = async (archived: boolean): Promise<void> => {
    await api.notifications.update({ params: { id }, body: { archived, read: true } });
    again();
  };
  return () =>
    acts.flip({
      show() {
        const filter = { queryKey: ['notifications'] };
        const before = client.getQueriesData<{ pages: { rows: Alert[] }[] }>(filter);
        client.setQueriesData<{ pages: { rows: Alert[] }[] }>(filter, (all) =>
          all?.pages
            ? { ...all, pages: all.pages.map((page) => ({ ...page, rows: page.rows.filter((row) => row.id !== id) })) }
            : all,
        );
        return () => {
          for (const [key, data] of before) client.setQueryData(key, data);
        };
      },
      work: () => set(true),
      back: () => set(false),
      done: words.actions.done.archive,
    });
}
