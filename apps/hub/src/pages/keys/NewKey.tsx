import { grantsNothing, scopeGroups, scopeWords } from '@svc/words';
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
import { areaNames, areaOf, isOfOperators, lifeEnd, lives, presets, type PresetName } from './keys.rules.ts';

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
  const unnamed = preset === 'own' ? text.unnamed : text.presets[preset];
  const create = async (): Promise<void> => {
    const end = lifeEnd(life, Date.now());
    const created = await acts.run(
      async () => {
        setProblems({});
        try {
          const body = {
            name: name.trim() === '' ? unnamed : name.trim(),
            scopes: [...scopes] as 'heartbeats'[],
            ...(end !== undefined && { expires_at: end }),
          };
          return await api.keys.create({ body });
        } catch (error) {
          setProblems(fieldProblems(error, words));
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
            placeholder={unnamed}
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

/** The scopes that a person may give, each of a meaning once, and those that the key has already. */
function useOffered(before: readonly string[]): { scope: string; text: string }[] {
  const { locale } = useLocale();
  const { data: me } = useMe();
  const mine = me?.actor.scopes ?? [];
  const isOperator = me?.operator === true;
  const offered = mine
    .flatMap((scope) => (scope.includes(':') ? [scope] : [`${scope}:read`, scope]))
    .filter((scope) => !grantsNothing(scope) && (isOperator || !isOfOperators(scope)));
  // A key may have scopes that a person has not, such as those of a host: they can be taken away.
  const all = [...new Set([...before, ...offered])].map((scope) => ({ scope, ...scopeWords(scope, locale) }));
  return all
    .filter(({ scope, text }, at) => before.includes(scope) || all.findIndex((one) => one.text === text) === at)
    .sort((a, b) => scopeGroups.indexOf(a.group) - scopeGroups.indexOf(b.group));
}

/** Scopes one by one, in words, by what they are about. */
export function ScopeChoice({ chosen, onChange }: { chosen: string[]; onChange: (scopes: string[]) => void }) {
  const words = useWords();
  const [before] = useState(chosen);
  const [wanted, setWanted] = useState('');
  const all = useOffered(before);
  const headings = words.keys.areas;
  const isWanted = (scope: string, text: string): boolean =>
    `${headings[areaOf(scope)]} ${scope} ${text}`.toLowerCase().includes(wanted.trim().toLowerCase());
  const shown = all.filter(({ scope, text }) => isWanted(scope, text));
  return (
    <div class="stack">
      <TextField label={words.keys.find} type="search" value={wanted} onInput={setWanted} />
      <div class="scope-choice">
        {shown.length === 0 && <p class="hint">{words.keys.foundNone}</p>}
        {areaNames.map((area) => {
          const own = shown.filter(({ scope }) => areaOf(scope) === area);
          if (own.length === 0) return null;
          return (
            <fieldset key={area}>
              <legend>{headings[area]}</legend>
              {own.map(({ scope, text }) => (
                <CheckField
                  key={scope}
                  label={text}
                  checked={chosen.includes(scope)}
                  onChange={(isOn) => onChange(isOn ? [...chosen, scope] : chosen.filter((one) => one !== scope))}
                />
              ))}
            </fieldset>
          );
        })}
      </div>
    </div>
  );
}
