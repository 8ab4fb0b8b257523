import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button, ButtonLink } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { useDraft } from '../../ui/draft.ts';
import { Filter } from '../../ui/Filter.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Page } from '../../ui/Page.tsx';
import { useWords, useZone } from '../../words/words.tsx';
import { bodyOf, emptyMonitor, MonitorForm } from './MonitorForm.tsx';
import { pingLines } from './monitors.ts';

/** Makes a monitor, copies its address, and waits for the first ping. */
export function NewMonitor() {
  const words = useWords();
  const acts = useActs();
  const tz = useZone();
  const [draft, setDraft, forget] = useDraft('monitor', emptyMonitor);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [made, setMade] = useState<{ id: string; url: string }>();
  const create = (): Promise<unknown> =>
    acts.run(
      async () => {
        setProblems({});
        try {
          const { id, ping_url: url } = await api.heartbeats.create({ body: bodyOf(draft, tz) });
          await navigator.clipboard?.writeText(pingLines(url).curl).catch(() => {});
          setMade({ id, url });
          forget();
        } catch (error) {
          setProblems(fieldProblems(error, words));
          throw error;
        }
      },
      { stale: ['heartbeats', 'overview'] },
    );
  return (
    <Page title={words.monitors.new} back={{ to: '/heartbeats', label: words.monitors.title }}>
      {made ? (
        <Made {...made} />
      ) : (
        <form
          class="stack form"
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <MonitorForm draft={draft} onDraft={setDraft} problems={problems} tz={tz} />
          <Button look="primary" type="submit">
            {words.monitors.createAndCopy}
          </Button>
        </form>
      )}
    </Page>
  );
}

function Made({ id, url }: { id: string; url: string }) {
  const words = useWords();
  const { data } = useAnswer(['heartbeats', id], async () => api.heartbeats.get({ params: { id } }));
  const isHere = data !== undefined && data.status !== 'new';
  return (
    <div class="stack">
      <p>{words.monitors.created}</p>
      <PingLines url={url} />
      <p class={isHere ? 'well' : 'hint'} role="status">
        <Icon name={isHere ? 'check' : 'clock'} />
        {isHere ? words.monitors.firstPing : words.monitors.waiting}
      </p>
      <ButtonLink to={`/heartbeats/${id}`} look={isHere ? 'primary' : 'plain'}>
        {words.open}
      </ButtonLink>
    </div>
  );
}

/** The address of a monitor as ready lines. */
export function PingLines({ url }: { url: string }) {
  const words = useWords();
  const [form, setForm] = useState<keyof ReturnType<typeof pingLines>>('curl');
  return (
    <div class="stack">
      <CopyText text={url} label={words.copy} />
      <p class="hint">{words.monitors.addressHint}</p>
      <Filter
        label={words.monitors.address}
        value={form}
        onChange={(value) => setForm(value as typeof form)}
        options={Object.entries(words.monitors.lines)}
      />
      <CopyText text={pingLines(url)[form]} />
    </div>
  );
}
