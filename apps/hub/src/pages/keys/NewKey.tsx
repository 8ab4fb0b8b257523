import { scopeGroups, scopeWords } from '@svc/words';
import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useMe } from '../../api/me.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/Field.tsx';
import { useLocale, useWords } from '../../words/words.tsx';
import { lifeEnd, lives, presets, type PresetName } from './keys.rules.ts';

/** Makes a key: by a preset, or scope by scope. Its text is shown once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.keys;
  const acts = useActs();
  const [made, setMade] = useState<string>();
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [name, setName] = useState('');
  const [preset, setPreset] = useState<PresetName>('monitors');
  const [own, setOwn] = useState<string[]>([]);
  const [life, setLife] = useState<string>('never');
  const scopes = preset === 'own' ? own : presets[preset];
  const create = async (): Promise<void> => {
    const end = lifeEnd(life, Date.now());
    const created = await acts.run(
      async () => {
        setProblems({});
        try {
          const body = {
            name: name.trim() === '' ? text.presets[preset] : name.trim(),
            scopes: [...scopes] as 'heartbeats'[],
            ...(end !== undefined && { expires_at: end }),
          };
          return await api.keys.create({ body });
        } catch (error) {
          setProblems(fieldProblems(error));
          throw error;
        }
      },
      { stale: ['keys'] },
    );
    if (created) setMade(created.key);
  };
  return (
    <Dialog title={text.new} onClose={onClose} wide>
      {made !== undefined ? (
        <div class="stack">
          <p>{text.once}</p>
          <CopyText text={made} />
        </div>
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <SelectField
            label={text.preset}
            value={preset}
            onInput={(value) => setPreset(value as PresetName)}
            options={Object.entries(text.presets)}
            problem={problems['scopes']}
          />
          {preset === 'own' && <ScopeChoice chosen={own} onChange={setOwn} />}
          <TextField
            label={words.name}
            value={name}
            onInput={setName}
            placeholder={text.presets[preset]}
            problem={problems['name']}
          />
          <SelectField
            label={text.life}
            value={life}
            onInput={setLife}
            options={lives.map((one) => [one, text.lives[one]])}
            problem={problems['expires_at']}
          />
          <Button look="primary" type="submit" disabled={scopes.length === 0}>
            {words.create}
          </Button>
        </form>
      )}
    </Dialog>
  );
}

/** Scopes one by one, in words; those that the person has. */
export function ScopeChoice({ chosen, onChange }: { chosen: string[]; onChange: (scopes: string[]) => void }) {
  const words = useWords();
  const { locale } = useLocale();
  const { data: me } = useMe();
  const mine = me?.actor.scopes ?? [];
  // A key may have scopes that a person has not, such as those of a host: they can be taken away.
  const [before] = useState(chosen);
  const offered = mine.flatMap((scope) => (scope.includes(':') ? [scope] : [`${scope}:read`, scope]));
  const all = [...new Set([...offered, ...before])];
  return (
    <div class="scope-choice">
      {scopeGroups.map((group) => (
        <fieldset key={group}>
          <legend>{words.keys.groups[group]}</legend>
          {all
            .filter((scope) => scopeWords(scope, locale).group === group)
            .map((scope) => (
              <CheckField
                key={scope}
                label={scopeWords(scope, locale).text}
                checked={chosen.includes(scope)}
                onChange={(isOn) => onChange(isOn ? [...chosen, scope] : chosen.filter((one) => one !== scope))}
              />
            ))}
        </fieldset>
      ))}
    </div>
  );
}
