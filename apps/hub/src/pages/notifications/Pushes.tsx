import { useEffect, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { hidesHere, hideHere, pushHere, stopPush } from '../../api/push.ts';
import { useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CheckField } from '../../ui/Field.tsx';
import { Rows } from '../../ui/List.tsx';
import { Section } from '../../ui/Page.tsx';
import { done, type Outcome, refused } from '../../ui/outcomes.ts';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Subscription = Awaited<ReturnType<typeof api.notifications.listSubscriptions>>['subscriptions'][number];
const stale = ['notifications'];

/** Devices that are told by push. One that is signed out is told no more by itself. */
export function Pushes() {
  const text = useWords().pushes;
  const [here, setHere] = useState<string>();
  useEffect(() => void pushHere().then(setHere, () => {}), []);
  const answer = useRows<Subscription>(['notifications', 'subscriptions'], async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { subscriptions, next_cursor: next } = await api.notifications.listSubscriptions({ query });
    return { rows: subscriptions, next };
  });
  return (
    <Section title={text.title}>
      <Rows
        answer={answer}
        label={text.title}
        empty={<p class="hint">{text.none}</p>}
        row={(one) => <DeviceRow item={one} isHere={one.id === here} />}
      />
      {here !== undefined && <ThisDevice onStopped={() => setHere(undefined)} />}
    </Section>
  );
}

function DeviceRow({ item, isHere }: { item: Subscription; isHere: boolean }) {
  const text = useWords().pushes;
  const acts = useActs();
  const { device_name: name, last_seen_at: seen, last_delivered_at: delivered, last_error: error, silent } = item;
  const { delivered_at: arrived } = item;
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          <bdi>{name === '' ? text.unnamed : name}</bdi>
          {isHere && <span class="tag">{text.thisDevice}</span>}
        </span>
        <span class="row-detail">
          {text.seen} <Time at={seen} />
          {' · '}
          {delivered === undefined ? (
            text.neverDelivered
          ) : (
            <>
              {text.delivered} <Time at={delivered} />
            </>
          )}
          {arrived !== undefined && (
            <>
              {' · '}
              {text.arrived} <Time at={arrived} />
            </>
          )}
        </span>
        {error && (
          <span class="row-detail">
            {text.refused(error.status)} <Time at={error.at} />
          </span>
        )}
        {silent && <span class="row-detail">{text.silentText}</span>}
      </span>
      {error && <Status tone="bad">{text.notReached}</Status>}
      {silent && !error && <Status tone="warn">{text.silent}</Status>}
      {!isHere && (
        <Button
          look="quiet"
          onPress={() =>
            acts.run(() => api.notifications.removeSubscription({ params: { id: item.id } }), {
              done: text.removedOther,
              stale,
            })
          }
        >
          {text.removeOther}
        </Button>
      )}
    </div>
  );
}

function ThisDevice({ onStopped }: { onStopped: () => void }) {
  const text = useWords().pushes;
  const acts = useActs();
  const [isHidden, setHidden] = useState(hidesHere);
  const hide = async (next: boolean): Promise<void> => {
    const saidOf = (isDone: boolean): Outcome => {
      if (!isDone) return refused(text.notHere);
      return done(next ? text.hidden : text.shown);
    };
    if (await acts.run(async () => hideHere(next), { done: saidOf, stale })) setHidden(next);
  };
  const stop = async (): Promise<void> => {
    if (await acts.run(stopPush, { done: text.removed, stale })) onStopped();
  };
  return (
    <div class="stack">
      <CheckField label={text.hide} hint={text.hideHint} checked={isHidden} onChange={(next) => void hide(next)} />
      <div>
        <Button look="danger" onPress={stop}>
          {text.remove}
        </Button>
      </div>
    </div>
  );
}
