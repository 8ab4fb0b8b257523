import type { Dispatch, StateUpdater } from 'preact/hooks';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import type { ProjectRecord } from './environments.ts';

/** What a project's form holds. */
export interface ProjectDraft {
  name: string;
  repo: string;
  branch: string;
  devcontainer: string;
  isolation: ProjectRecord['isolation'];
  settings: string;
}
/** A form that nobody filled in. */
export const emptyProject: ProjectDraft = {
  name: '',
  repo: '',
  branch: '',
  devcontainer: '',
  isolation: 'shared_vm',
  settings: '',
};

/** The form of a project that is there. */
export const draftOf = (project: ProjectRecord): ProjectDraft => ({
  name: project.name,
  repo: project.repoUrl ?? '',
  branch: project.defaultBranch,
  devcontainer: project.devcontainerPath ?? '',
  isolation: project.isolation,
  settings: Object.keys(project.settings).length === 0 ? '' : JSON.stringify(project.settings, null, 2),
});

/** The settings that are typed; undefined: none are; null: it is no JSON object. */
export function settingsOf({ settings }: ProjectDraft): Record<string, unknown> | undefined | null {
  if (settings.trim() === '') return undefined;
  try {
    const value: unknown = JSON.parse(settings);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Name, repository and how people share the machines of a project. */
export function ProjectForm({
  draft,
  onDraft,
  problems,
}: {
  draft: ProjectDraft;
  onDraft: Dispatch<StateUpdater<ProjectDraft>>;
  problems: Record<string, string>;
}) {
  const words = useWords();
  const text = words.projects;
  const set = (name: keyof ProjectDraft) => (value: string) => onDraft((before) => ({ ...before, [name]: value }));
  return (
    <>
      <TextField label={words.name} value={draft.name} onInput={set('name')} problem={problems['name']} required />
      <TextField
        label={text.repo}
        value={draft.repo}
        onInput={set('repo')}
        hint={text.repoHint}
        problem={problems['repo_url']}
        isCode
      />
      <SelectField
        label={text.isolation}
        value={draft.isolation}
        onInput={set('isolation')}
        options={Object.entries(text.isolations)}
        problem={problems['isolation']}
      />
      <details class="more-fields" open={draft.devcontainer !== '' || draft.settings !== ''}>
        <summary>{words.nav.more}</summary>
        <div class="stack">
          <TextField
            label={text.branch}
            value={draft.branch}
            onInput={set('branch')}
            placeholder="main"
            problem={problems['default_branch']}
            isCode
          />
          <TextField
            label={text.devcontainer}
            value={draft.devcontainer}
            onInput={set('devcontainer')}
            placeholder=".devcontainer/devcontainer.json"
            problem={problems['devcontainer_path']}
            isCode
          />
          <TextField
            label={text.settings}
            value={draft.settings}
            onInput={set('settings')}
            rows={4}
            problem={problems['settings']}
            isCode
          />
        </div>
      </details>
    </>
  );
}
