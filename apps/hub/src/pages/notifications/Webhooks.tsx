import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Rows } from '../../ui/List.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Section } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { duration } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { Deliveries } from './Deliveries.tsx';
import { RotateSecret, WebhookForm } from './WebhookForm.tsx';
import { originOf, staleByWebhook as stale, type WebhookRecord } from './webhooks.ts';

/** Addresses that are sent the alerts. */
export function Webhooks() {
  const text = useWords().hooks;
  const [isNew, setNew] = useState(false);
  const answer = useRows<WebhookRecord>(['notifications', 'webhooks'], async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { webhooks, next_cursor: next } = await api.notifications.listWebhooks({ query });
    // An address may be a secret, as those of Slack are: what a list shows is kept in the browser.
    return { rows: webhooks.map((hook) => ({ ...hook, url: originOf(hook.url) })), next };
  });
  return (
    <Section
      title={text.title}
      acts={
        <Button icon="add" onPress={() => setNew(true)}>
          {text.add}
        </Button>
      }
    >
      <Rows
        answer={answer}
        label={text.title}
        empty={<p class="hint">{text.none}</p>}
        row={(hook) => <WebhookRow hook={hook} />}
      />
      {isNew && <WebhookForm onClose={() => setNew(false)} />}
    </Section>
  );
}

function State({ hook }: { hook: WebhookRecord }) {
  const text = useWords().hooks;
  if (hook.broken) return <Status tone="bad">{text.states.broken}</Status>;
  if (!hook.enabled) return <Status tone="rest">{text.states.off}</Status>;
  if (hook.failing_since !== undefined) return <Status tone="warn">{text.states.failing}</Status>;
  return <Status tone="good">{text.states.on}</Status>;
}

function WebhookRow({ hook }: { hook: WebhookRecord }) {
  const words = useWords();
  const text = words.hooks;
  const reasons: Record<string, string> = text.reasons;
  const { name, url, format, types, disabled_reason: reason, failing_since: failing } = hook;
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          <bdi>{name}</bdi>
        </span>
        <span class="row-detail">
          {[url, text.formats[format], types?.join(', '), reason !== undefined && (reasons[reason] ?? reason)]
            .filter(Boolean)
            .join(' · ')}
          {failing !== undefined && (
            <>
              {' · '}
              {text.failingSince} <Time at={failing} />
            </>
          )}
        </span>
      </span>
      <State hook={hook} />
      <WebhookActs hook={hook} />
    </div>
  );
}

function WebhookActs({ hook }: { hook: WebhookRecord }) {
  const words = useWords();
  const text = words.hooks;
  const acts = useActs();
  const [open, setOpen] = useState<'rotate' | 'deliveries' | 'delete'>();
  const [edited, setEdited] = useState<WebhookRecord>();
  const { id, name, enabled } = hook;
  const params = { id };
  const close = (): void => setOpen(undefined);
  const edit = async (): Promise<void> =>
    setEdited(await acts.run(async () => api.notifications.getWebhook({ params })));
  const test = async (): Promise<void> => {
    const sent = await acts.run(async () => api.notifications.testWebhook({ params }), { stale });
    if (!sent) return;
    const why = sent.reason ?? text.status(sent.status ?? 0);
    if (sent.ok) acts.say(text.testArrived(duration(sent.duration_ms)));
    else acts.say(text.testLost(why), { isProblem: true });
  };
  const turn = (isOn: boolean): Promise<unknown> =>
    acts.run(async () => api.notifications.updateWebhook({ params, body: { enabled: isOn } }), {
      done: isOn ? text.turnedOn : text.turnedOff,
      stale,
    });
  return (
    <>
      <Menu
        label={words.moreActs}
        items={[
          { label: text.test, act: test },
          { label: text.deliveries, act: () => setOpen('deliveries') },
          { label: text.edit, act: edit },
          { label: text.rotate, act: () => setOpen('rotate') },
          enabled ? { label: text.turnOff, act: () => turn(false) } : { label: text.turnOn, act: () => turn(true) },
          { label: words.monitors.delete, act: () => setOpen('delete'), isDanger: true },
        ]}
      />
      {edited && <WebhookForm hook={edited} onClose={() => setEdited(undefined)} />}
      {open === 'rotate' && <RotateSecret id={id} onClose={close} />}
      {open === 'deliveries' && <Deliveries id={id} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog
          name={name}
          text={words.monitors.deleteText(name)}
          onClose={close}
          onDelete={async () => {
            const work = async () => api.notifications.removeWebhook({ params });
            if (await acts.run(work, { done: text.deleted, stale })) close();
          }}
        />
      )}
    </>
  );
}
