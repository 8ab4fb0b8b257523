import type { Dispatch, StateUpdater } from 'preact/hooks';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { duration } from '../../ui/time.rules.ts';
import { useWords } from '../../words/words.tsx';
import type { MonitorRecord } from './monitors.ts';

/** Chosen in place of a period. */
const byCron = 'cron';

/** What a monitor's form holds. */
export interface MonitorDraft {
  name: string;
  /** Seconds, or `cron`. */
  period: string;
  cron: string;
  grace: string;
  tags: string;
}
/** A form that nobody filled in. */
export const emptyMonitor: MonitorDraft = { name: '', period: '86400', cron: '', grace: '3600', tags: '' };

/** The form of a monitor that is there. */
export const draftOf = ({ name, period_s: period, cron, grace_s: grace, tags }: MonitorRecord): MonitorDraft => ({
  name,
  period: cron === null ? String(period) : byCron,
  cron: cron ?? '',
  grace: String(grace),
  tags: tags?.join(', ') ?? '',
});

/** The body that the API takes; `tz` is where the hours of a cron expression are. */
export const bodyOf = ({ name, period, cron, grace, tags }: MonitorDraft, tz: string) => ({
  name: name.trim(),
  ...(period === byCron ? { cron: cron.trim(), tz } : { period_s: Number(period) }),
  grace_s: Number(grace),
  tags: tags
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== ''),
});

/** Seconds that the list has no word for stay as they are. */
const withOwn = (words: Record<string, string>, value: string): [string, string][] => {
  const known = Object.entries(words);
  const isKnown = value === byCron || known.some(([seconds]) => seconds === value);
  return isKnown ? known : [[value, duration(Number(value) * 1_000)], ...known];
};

/** Name, times and tags of a monitor. */
export function MonitorForm({
  draft,
  onDraft,
  problems,
  tz,
}: {
  draft: MonitorDraft;
  tz: string;
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
          options={[...withOwn(text.periods, draft.period), [byCron, text.byCron]]}
        />
        <SelectField
          label={text.graceLabel}
          value={draft.grace}
          onInput={set('grace')}
          problem={problems['grace_s']}
          options={withOwn(text.graces, draft.grace)}
        />
      </div>
      {draft.period === byCron && (
        <TextField
          label={text.cron}
          value={draft.cron}
          onInput={set('cron')}
          hint={text.cronHint(tz)}
          problem={problems['cron'] ?? problems['tz']}
          isCode
          required
        />
      )}
      <details class="more-fields" open={draft.tags !== ''}>
        <summary>{words.nav.more}</summary>
        <div class="stack">
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
