import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useMe } from '../../api/me.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { useDraft } from '../../ui/draft.ts';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { filled, stale } from './environments.ts';
import { emptyProject, ProjectForm, settingsOf } from './ProjectForm.tsx';

/** Makes a project, in an organisation where the person may. */
export function NewProject({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.projects;
  const acts = useActs();
  const { data: me } = useMe();
  const [draft, setDraft, forget] = useDraft('project', { ...emptyProject, slug: '', org: '' });
  const [problems, setProblems] = useState<Record<string, string>>({});
  const orgs = me?.orgs.filter(({ role }) => role !== 'member') ?? [];
  const create = async (): Promise<void> => {
    const settings = settingsOf(draft);
    if (settings === null) return setProblems({ settings: text.notJson });
    setProblems({});
    const body = {
      name: draft.name.trim(),
      isolation: draft.isolation,
      ...filled({
        repo_url: draft.repo,
        slug: draft.slug,
        org_id: draft.org,
        default_branch: draft.branch,
        devcontainer_path: draft.devcontainer,
      }),
      ...(settings && { settings }),
    };
    const work = async () => {
      try {
        return await api.projects.create({ body });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    if (!(await acts.run(work, { done: text.made, stale }))) return;
    forget();
    onClose();
  };
  return (
    <Dialog title={text.new} onClose={onClose} wide>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <ProjectForm
          draft={draft}
          onDraft={(next) =>
            setDraft((before) => ({ ...before, ...(typeof next === 'function' ? next(before) : next) }))
          }
          problems={problems}
        />
        <TextField
          label={text.slug}
          value={draft.slug}
          onInput={(slug) => setDraft((before) => ({ ...before, slug }))}
          hint={text.slugHint}
          problem={problems['slug']}
          isCode
        />
        {orgs.length > 0 && (
          <SelectField
            label={text.org}
            value={draft.org}
            onInput={(org) => setDraft((before) => ({ ...before, org }))}
            options={[['', text.noOrg], ...orgs.map(({ id, name }) => [id, name] as const)]}
            problem={problems['org_id']}
          />
        )}
        <Button look="primary" type="submit">
          {words.create}
        </Button>
      </form>
    </Dialog>
  );
}
