import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { useDraft } from '../../ui/draft.ts';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { type EnvironmentRecord, filled, type ProjectRecord, stale } from './environments.ts';

const empty = {
  name: '',
  slug: '',
  idle: '30',
  provider: 'byo' as EnvironmentRecord['provider'],
  size: 'small' as const,
  budget: '',
};

type Draft = typeof empty;

/** Makes an environment in a project, and opens it. */
export function NewEnvironment({ project, onClose }: { project: ProjectRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.environments;
  const acts = useActs();
  const [, go] = useLocation();
  const [draft, setDraft, forget] = useDraft(`environment-${project.id}`, empty);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const set = (name: keyof Draft) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  const isManaged = draft.provider !== 'byo';
  const isNamed = project.isolation !== 'vm_per_dev';
  const create = async (): Promise<void> => {
    setProblems({});
    const { provider, size, budget } = draft;
    const body = {
      project_id: project.id,
      provider,
      idle_timeout_minutes: Number(draft.idle),
      ...(isNamed && { name: draft.name.trim() }),
      ...filled({ slug: draft.slug }),
      ...(isManaged && { size, ...(budget.trim() !== '' && { budget_micro_eur: Math.round(Number(budget) * 1e6) }) }),
    };
    const work = async () => {
      try {
        return await api.environments.create({ body });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    const made = await acts.run(work, { done: text.made, stale });
    if (!made) return;
    forget();
    onClose();
    go(`/environments/${made.environment.id}`);
  };
  return (
    <Dialog title={text.new} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <p class="hint">
          {text.project}: <bdi>{project.name}</bdi>
        </p>
        {isNamed ? (
          <TextField label={words.name} value={draft.name} onInput={set('name')} problem={problems['name']} required />
        ) : (
          <p class="box note">{text.ownName}</p>
        )}
        <SelectField
          label={text.provider}
          value={draft.provider}
          onInput={set('provider')}
          hint={text.providerHint}
          options={Object.entries(text.providers)}
          problem={problems['provider']}
        />
        {isManaged && (
          <div class="pair">
            <SelectField
              label={text.size}
              value={draft.size}
              onInput={set('size')}
              options={Object.entries(text.sizes)}
              problem={problems['size']}
            />
            <TextField
              label={text.budget}
              type="number"
              step="any"
              value={draft.budget}
              onInput={set('budget')}
              hint={text.budgetHint}
              problem={problems['budget_micro_eur']}
            />
          </div>
        )}
        <Further draft={draft} set={set} problems={problems} />
        <Button look="primary" type="submit">
          {words.create}
        </Button>
      </form>
    </Dialog>
  );
}

/** What seldom differs. */
function Further({
  draft,
  set,
  problems,
}: {
  draft: Draft;
  set: (name: keyof Draft) => (value: string) => void;
  problems: Record<string, string>;
}) {
  const words = useWords();
  return (
    <details class="more-fields">
      <summary>{words.nav.more}</summary>
      <div class="stack">
        <TextField
          label={words.projects.slug}
          value={draft.slug}
          onInput={set('slug')}
          hint={words.projects.slugHint}
          problem={problems['slug']}
          isCode
        />
        <TextField
          label={words.environments.idle}
          type="number"
          value={draft.idle}
          onInput={set('idle')}
          problem={problems['idle_timeout_minutes']}
        />
      </div>
    </details>
  );
}
