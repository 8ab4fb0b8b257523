import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { useDraft } from '../../ui/draft.ts';
import { CheckField, SelectField, TextField } from '../../ui/Field.tsx';
import { Page } from '../../ui/Page.tsx';
import { Clock } from '../../ui/Time.tsx';
import { useWords, useZone } from '../../words/words.tsx';
import { tellings } from './schedules.ts';

type Preview = Awaited<ReturnType<typeof api.schedules.preview>>;
const empty = {
  name: '',
  kind: 'shell',
  work: '',
  when: '',
  where: 'any',
  isAsked: 'no',
  tells: 'on_failure',
  ignored: '',
};
type Draft = typeof empty;
const waitMs = 250;

/** What plain words mean, a moment after the last key. */
function usePreview(text: string, tz: string): Preview | undefined {
  const [preview, setPreview] = useState<Preview>();
  useEffect(() => {
    if (text.trim() === '') return setPreview(undefined);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api.schedules.preview({ body: { text: text.trim(), tz } }, { signal: stop.signal }).then(setPreview, () => {});
    }, waitMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, tz]);
  return preview;
}

/** Makes a schedule: what, when in plain words, and where. */
export function NewSchedule() {
  const words = useWords();
  const text = words.schedules;
  const acts = useActs();
  const [, go] = useLocation();
  const [draft, setDraft, forget] = useDraft('schedule', empty);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const preview = usePreview(draft.when, useZone());
  const machines = useAnswer(
    ['machines', 'all'],
    async () => (await api.machines.list({ query: { limit: 100 } })).machines,
  );
  const set = (name: keyof Draft) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  const create = async (): Promise<void> => {
    const made = await acts.run(
      async () => {
        setProblems({});
        try {
          return await api.schedules.create({ body: bodyOf(draft, preview?.trigger) });
        } catch (error) {
          setProblems(fieldProblems(error, words));
          throw error;
        }
      },
      { stale: ['schedules', 'overview'] },
    );
    if (!made) return;
    forget();
    go(`/schedules/${made.id}`);
  };
  const workName = { shell: 'command', http: 'url', agent: 'prompt' }[draft.kind] ?? 'command';
  return (
    <Page title={text.new} back={{ to: '/schedules', label: text.title }}>
      <form
        class="stack form"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <TextField label={words.name} value={draft.name} onInput={set('name')} problem={problems['name']} required />
        <SelectField
          label={text.kind}
          value={draft.kind}
          onInput={set('kind')}
          options={(['shell', 'http', 'agent'] as const).map((kind) => [kind, text.kinds[kind]])}
        />
        <TextField
          label={text.work[draft.kind as 'shell'] ?? text.work.shell}
          value={draft.work}
          onInput={set('work')}
          problem={problems[`spec.${workName}`] ?? problems['spec']}
          isCode={draft.kind !== 'agent'}
          required
          {...(draft.kind !== 'http' && { rows: 3 })}
        />
        <TextField
          label={text.when}
          value={draft.when}
          onInput={set('when')}
          placeholder={text.whenExample}
          problem={preview?.ok === false && draft.when.trim() !== '' ? text.notUnderstood : problems['trigger']}
          hint={preview?.ok ? <NextRuns preview={preview} /> : text.whenHint}
          required
        />
        <SelectField
          label={text.where}
          value={draft.where}
          onInput={set('where')}
          problem={problems['target']}
          options={[
            ['any', text.targets.any],
            ['cloud', text.targets.cloud],
            ...(machines.data ?? []).map(({ device_id: id, name }): [string, string] => [id, name]),
          ]}
        />
        <CheckField
          label={text.askFirst}
          checked={draft.isAsked === 'yes'}
          onChange={(isOn) => set('isAsked')(isOn ? 'yes' : 'no')}
        />
        <TellFields draft={draft} set={set} problems={problems} />
        <Button look="primary" type="submit" disabled={preview?.ok !== true}>
          {words.create}
        </Button>
      </form>
    </Page>
  );
}

/** After which runs somebody is told, and what of an output is no change. */
function TellFields({
  draft,
  set,
  problems,
}: {
  draft: Draft;
  set: (name: keyof Draft) => (value: string) => void;
  problems: Record<string, string>;
}) {
  const text = useWords().schedules;
  // The API names the pattern that it refuses.
  const [, problem] = Object.entries(problems).find(([path]) => path.split('.')[0] === 'ignore') ?? [];
  return (
    <>
      <SelectField
        label={text.tell}
        value={draft.tells}
        onInput={set('tells')}
        options={tellings.map((when) => [when, text.tells[when]])}
      />
      {draft.tells === 'on_change' && (
        <TextField
          label={text.ignored}
          value={draft.ignored}
          onInput={set('ignored')}
          hint={text.ignoredHint}
          problem={problem}
          rows={3}
          isCode
        />
      )}
    </>
  );
}

function NextRuns({ preview }: { preview: Preview }) {
  const words = useWords();
  return (
    <>
      {words.schedules.next}:{' '}
      {preview.next_runs?.map((at, place) => (
        <span key={at}>
          {place > 0 && ', '}
          <Clock at={at} />
        </span>
      ))}
      {preview.dst_warning && ` ${words.schedules.dst}`}
    </>
  );
}

type NewBody = Parameters<typeof api.schedules.create>[0]['body'];

/** The body that the API takes. */
function bodyOf(draft: Draft, trigger: Preview['trigger']): NewBody {
  const { name, kind, work, where, isAsked, tells, ignored } = draft;
  const ignore = tells === 'on_change' ? ignored.split('\n').filter((line) => line.trim() !== '') : [];
  const target = where === 'any' || where === 'cloud' ? { type: where } : { type: 'host' as const, device_id: where };
  const spec = { shell: { command: work }, http: { url: work.trim() }, agent: { prompt: work } }[kind] ?? {};
  return {
    name: name.trim(),
    kind,
    spec,
    trigger,
    target,
    ...(tells !== empty.tells && { notify: tells }),
    ...(ignore.length > 0 && { ignore }),
    ...(isAsked === 'yes' && { policy: { approval: 'always' } }),
  } as NewBody;
}
