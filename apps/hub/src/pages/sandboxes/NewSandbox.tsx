import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useMe } from '../../api/me.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { makeSandbox } from './making.ts';
import { staleBySandbox } from './sandboxes.ts';

const templates = ['svc-base', 'office-acte', 'desktop'] as const;
type Template = (typeof templates)[number];
const progressMs = 5_000;

/** How far the images of templates are, as operators may see it; of everybody else nothing is known. */
function useImages(isWaiting: boolean): Partial<Record<string, { isReady: boolean; percent: number | undefined }>> {
  const isOperator = useMe().data?.operator === true;
  const answer = useAnswer(['system'], async () => api.system.get(), {
    enabled: isOperator,
    ...(isWaiting && { everyMs: progressMs }),
  });
  const all = isOperator ? (answer.data?.sandbox_nodes ?? []).flatMap(({ images }) => images) : [];
  const names = [...new Set(all.map(({ template }) => template))];
  return Object.fromEntries(
    names.map((name) => {
      const own = all.filter(({ template }) => template === name);
      return [
        name,
        { isReady: own.some(({ state }) => state === 'ready'), percent: own.find(({ percent }) => percent)?.percent },
      ];
    }),
  );
}

/** What happens while a sandbox is made; one whose image is there is made before anybody reads it. */
function Waiting({ percent, onCancel }: { percent: number | undefined; onCancel: () => void }) {
  const words = useWords();
  const text = words.sandboxes;
  return (
    <div class="box note">
      <div class="stack" role="status">
        <p>{text.making}</p>
        <p class="hint">{percent === undefined ? text.makingLong : text.building(percent)}</p>
        <progress aria-label={text.making} max={100} {...(percent !== undefined && { value: percent })} />
      </div>
      <Button onPress={onCancel}>{words.cancel}</Button>
    </div>
  );
}

/** Makes a sandbox and opens it; who closes it meanwhile gets none. */
export function NewSandbox({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.sandboxes;
  const acts = useActs();
  const [, go] = useLocation();
  const [name, setName] = useState('');
  const [template, setTemplate] = useState<Template>('svc-base');
  const [ttl, setTtl] = useState('3600');
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [isWaiting, setWaiting] = useState(false);
  const [percent, setPercent] = useState<number>();
  const images = useImages(isWaiting);
  const stop = useRef<AbortController>();
  useEffect(() => () => stop.current?.abort(), []);
  const create = async (): Promise<void> => {
    setProblems({});
    setPercent(undefined);
    setWaiting(true);
    const named = name.trim();
    const { signal } = (stop.current = new AbortController());
    const body = { template, ttl_seconds: Number(ttl), ...(named !== '' && { metadata: { name: named } }) };
    const work = async () => {
      try {
        return await makeSandbox(body, signal, setPercent);
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    const made = await acts.run(work, { stale: staleBySandbox });
    if (signal.aborted) return;
    setWaiting(false);
    if (!made) return;
    acts.say(text.made);
    onClose();
    go(`/sandboxes/${made.id}`);
  };
  const image = images[template];
  return (
    <Dialog title={text.new} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <TextField label={words.name} value={name} onInput={setName} problem={problems['metadata']} />
        <SelectField
          label={text.template}
          value={template}
          onInput={(value) => setTemplate(value as Template)}
          options={templates.map((one) => [one, images[one]?.isReady === false ? text.notBuilt(one) : one])}
          hint={image?.isReady === false ? text.notBuiltText : undefined}
          problem={problems['template']}
        />
        <SelectField
          label={text.ttl}
          value={ttl}
          onInput={setTtl}
          options={Object.entries(text.ttls)}
          problem={problems['ttl_seconds']}
        />
        {isWaiting ? (
          <Waiting percent={percent ?? image?.percent} onCancel={onClose} />
        ) : (
          <Button look="primary" type="submit" onPress={create}>
            {words.create}
          </Button>
        )}
      </form>
    </Dialog>
  );
}
