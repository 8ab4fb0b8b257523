import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { staleBySandbox } from './sandboxes.ts';

const templates = ['svc-base', 'office-acte', 'desktop'] as const;
type Template = (typeof templates)[number];

/** Makes a sandbox and opens it. */
export function NewSandbox({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.sandboxes;
  const acts = useActs();
  const [, go] = useLocation();
  const [name, setName] = useState('');
  const [template, setTemplate] = useState<Template>('svc-base');
  const [ttl, setTtl] = useState('3600');
  const [problems, setProblems] = useState<Record<string, string>>({});
  const create = async (): Promise<void> => {
    setProblems({});
    const named = name.trim();
    const made = await acts.run(
      async () => {
        try {
          const body = { template, ttl_seconds: Number(ttl), ...(named !== '' && { metadata: { name: named } }) };
          return await api.sandboxes.create({ body });
        } catch (error) {
          setProblems(fieldProblems(error));
          throw error;
        }
      },
      { done: text.made, stale: staleBySandbox },
    );
    if (!made) return;
    onClose();
    go(`/sandboxes/${made.id}`);
  };
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
          options={templates.map((one) => [one, one])}
          problem={problems['template']}
        />
        <SelectField
          label={text.ttl}
          value={ttl}
          onInput={setTtl}
          options={Object.entries(text.ttls)}
          problem={problems['ttl_seconds']}
        />
        <Button look="primary" type="submit" onPress={create}>
          {words.create}
        </Button>
      </form>
    </Dialog>
  );
}
