import { useState } from 'preact/hooks';
import { useMe } from '../../api/me.ts';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import type { Rule } from './ways.ts';

const channels = ['push', 'mail', 'webhook'] as const;
/** Beginnings of types that come today; others may be typed. */
const knownTypes = [
  '*',
  'agent',
  'connection',
  'environment',
  'exec',
  'heartbeat',
  'login',
  'notification',
  'passkey',
  'password',
  'prompt',
  'schedule',
  'transcript',
];

const draftOf = (rule: Rule | undefined, zone: string) => ({
  type: rule?.type ?? '',
  least: rule?.min_severity ?? ('info' as const),
  channels: rule?.channels ?? [...channels],
  isQuiet: rule?.quiet_hours !== undefined,
  from: rule?.quiet_hours?.from ?? '22:00',
  to: rule?.quiet_hours?.to ?? '07:00',
  tz: rule?.quiet_hours?.tz ?? zone,
});
type Draft = ReturnType<typeof draftOf>;

/** Says which way alerts of a type go. */
export function RuleForm({
  rule,
  problems,
  onSave,
  onClose,
}: {
  /** Undefined: a new one. */
  rule: Rule | undefined;
  /** By the path within the rule. */
  problems: Record<string, string>;
  onSave: (rule: Rule) => Promise<boolean>;
  onClose: () => void;
}) {
  const words = useWords();
  const text = words.ways;
  const zone = useMe().data?.account.tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const [draft, setDraft] = useState(() => draftOf(rule, zone));
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const save = async (): Promise<void> => {
    const { type, least, isQuiet, from, to, tz } = draft;
    const saved = await onSave({
      type: type.trim(),
      channels: channels.filter((channel) => draft.channels.includes(channel)),
      ...(least !== 'info' && { min_severity: least }),
      ...(isQuiet && { quiet_hours: { from, to, tz } }),
    });
    if (saved) onClose();
  };
  return (
    <Dialog title={rule ? text.editRule : text.addRule} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label={text.type}
          value={draft.type}
          onInput={(type) => set({ type })}
          hint={text.typeHint}
          problem={problems['type']}
          list={knownTypes}
          isCode
          required
        />
        <SelectField
          label={text.severity}
          value={draft.least}
          onInput={(least) => set({ least: least as Draft['least'] })}
          options={severities.map((one) => [one, words.alerts.severities[one]])}
        />
        <fieldset class="plain">
          <legend>{text.channelsLabel}</legend>
          {channels.map((channel) => (
            <CheckField
              key={channel}
              label={text.channels[channel]}
              checked={draft.channels.includes(channel)}
              onChange={(isOn) =>
                set({ channels: isOn ? [...draft.channels, channel] : draft.channels.filter((one) => one !== channel) })
              }
            />
          ))}
        </fieldset>
        <QuietHours draft={draft} problems={problems} onChange={set} />
        <Button look="primary" type="submit">
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}

const severities = ['info', 'warning', 'critical'] as const;

function QuietHours({
  draft,
  problems,
  onChange,
}: {
  draft: Draft;
  problems: Record<string, string>;
  onChange: (change: Partial<Draft>) => void;
}) {
  const words = useWords();
  const text = words.ways;
  return (
    <>
      <CheckField
        label={text.quiet}
        hint={text.quietHint}
        checked={draft.isQuiet}
        onChange={(isQuiet) => onChange({ isQuiet })}
      />
      {draft.isQuiet && (
        <>
          <div class="pair">
            <TextField
              label={text.quietFrom}
              type="time"
              value={draft.from}
              onInput={(from) => onChange({ from })}
              required
            />
            <TextField
              label={text.quietTo}
              type="time"
              value={draft.to}
              onInput={(to) => onChange({ to })}
              problem={problems['quiet_hours.to']}
              required
            />
          </div>
          <TextField
            label={words.me.tz}
            value={draft.tz}
            onInput={(tz) => onChange({ tz })}
            list={Intl.supportedValuesOf('timeZone')}
            problem={problems['quiet_hours.tz']}
            required
          />
        </>
      )}
    </>
  );
}
