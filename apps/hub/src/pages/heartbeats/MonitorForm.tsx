import type { Dispatch, StateUpdater } from 'preact/hooks';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';

/** What a monitor's form holds. */
export interface MonitorDraft {
  name: string;
  period: string;
  cron: string;
  grace: string;
  tags: string;
}
/** A form that nobody filled in. */
export const emptyMonitor: MonitorDraft = { name: '', period: '86400', cron: '', grace: '3600', tags: '' };

/** The body that the API takes. */
export const bodyOf = ({ name, period, cron, grace, tags }: MonitorDraft) => ({
  name: name.trim(),
  ...(cron.trim() === '' ? { period_s: Number(period) } : { cron: cron.trim() }),
  grace_s: Number(grace),
  tags: tags
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== ''),
});

/** Seconds that the list has no word for stay as they are. */
const withOwn = (words: Record<string, string>, value: string): [string, string][] => {
  const known = Object.entries(words);
  return known.some(([seconds]) => seconds === value) ? known : [[value, `${value} s`], ...known];
};

/** Name, times and tags of a monitor. */
export function MonitorForm({
  draft,
  onDraft,
  problems,
}: {
  draft: MonitorDraft;
  onDraft: Dispatch<StateUpdater<MonitorDraft>>;
  problems: Record<string, string>;
}) {
  const words = useWords();
  const text = words.monitors;
  const set = (name: keyof MonitorDraft) => (value: string) => onDraft((before) => ({ ...before, [name]: value }));
  return (
    <>
      <TextField label={words.name} value={draft.name} onInput={set('name')} problem={problems['name']} required />
      <div class="pair">
        <SelectField
          label={text.period}
          value={draft.period}
          onInput={set('period')}
          problem={problems['period_s']}
          options={withOwn(text.periods, draft.period)}
        />
        <SelectField
          label={text.graceLabel}
          value={draft.grace}
          onInput={set('grace')}
          problem={problems['grace_s']}
          options={withOwn(text.graces, draft.grace)}
        />
      </div>
      <details class="more-fields" open={draft.cron !== '' || draft.tags !== ''}>
        <summary>{words.nav.more}</summary>
        <div class="stack">
          <TextField
            label={text.cron}
            value={draft.cron}
            onInput={set('cron')}
            hint={text.cronHint}
            problem={problems['cron']}
            isCode
          />
          <TextField
            label={text.tags}
            value={draft.tags}
            onInput={set('tags')}
            hint={text.tagsHint}
            problem={problems['tags']}
          />
        </div>
      </details>
    </>
  );
}
