import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useMe } from '../../api/me.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { EnvironmentRows } from './Environments.tsx';
import { type ProjectRecord, stale } from './environments.ts';
import { NewEnvironment } from './NewEnvironment.tsx';
import { draftOf, ProjectForm, settingsOf } from './ProjectForm.tsx';

/** One project and its environments. */
export function Project({ id }: { id: string }) {
  const words = useWords();
  const text = words.projects;
  const [isNew, setNew] = useState(false);
  const answer = useAnswer(['projects', id], async () => api.projects.get({ params: { id } }));
  const project = answer.data?.project;
  const { data: me } = useMe();
  const isMine =
    project?.ownerUserId === me?.account.id ||
    (me?.orgs.some((org) => org.id === project?.orgId && org.role !== 'member') ?? false);
  return (
    <Page
      title={project?.name ?? text.title}
      back={{ to: '/environments', label: words.environments.title }}
      acts={project && isMine && <ProjectActs project={project} />}
    >
      <Answered answer={answer}>
        {({ project: shown, environments }) => (
          <>
            {!isMine && me && <p class="hint">{text.readOnly}</p>}
            <dl class="pairs narrow">
              <dt>{text.repo}</dt>
              <dd>{shown.repoUrl ?? words.none}</dd>
              <dt>{text.branch}</dt>
              <dd>{shown.defaultBranch}</dd>
              <dt>{text.isolation}</dt>
              <dd>{text.isolations[shown.isolation]}</dd>
              <dt>{text.slug}</dt>
              <dd>{shown.slug}</dd>
              <dt>{text.created}</dt>
              <dd>
                <Time at={shown.createdAt} />
              </dd>
            </dl>
            <Section
              title={words.environments.title}
              acts={
                <Button icon="add" onPress={() => setNew(true)}>
                  {words.environments.new}
                </Button>
              }
            >
              {environments.length === 0 ? (
                <p class="hint">{text.none}</p>
              ) : (
                <EnvironmentRows environments={environments} />
              )}
            </Section>
            {isNew && <NewEnvironment project={shown} onClose={() => setNew(false)} />}
          </>
        )}
      </Answered>
      <div class="foot">
        <CurlButton path={`/v1/projects/${id}`} />
      </div>
    </Page>
  );
}

function ProjectActs({ project }: { project: ProjectRecord }) {
  const words = useWords();
  const text = words.projects;
  const acts = useActs();
  const [, go] = useLocation();
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const { id, name } = project;
  const close = (): void => setOpen(undefined);
  return (
    <>
      <Button onPress={() => setOpen('edit')}>{text.edit}</Button>
      <Menu label={words.moreActs} items={[{ label: text.delete, act: () => setOpen('delete'), isDanger: true }]} />
      {open === 'edit' && <Edit project={project} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog
          name={name}
          label={text.delete}
          text={text.deleteText(name)}
          onClose={close}
          onDelete={async () => {
            const work = async () => api.projects.remove({ params: { id } });
            if (await acts.run(work, { done: text.deleted, stale })) go('/environments');
          }}
        />
      )}
    </>
  );
}

function Edit({ project, onClose }: { project: ProjectRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.projects;
  const acts = useActs();
  const [draft, setDraft] = useState(draftOf(project));
  const [problems, setProblems] = useState<Record<string, string>>({});
  const save = async (): Promise<void> => {
    const settings = settingsOf(draft);
    if (settings === null) return setProblems({ settings: text.notJson });
    setProblems({});
    const orNull = (value: string): string | null => (value.trim() === '' ? null : value.trim());
    const body = {
      name: draft.name.trim(),
      repo_url: orNull(draft.repo),
      isolation: draft.isolation,
      default_branch: orNull(draft.branch),
      devcontainer_path: orNull(draft.devcontainer),
      settings: settings ?? null,
    };
    const work = async () => {
      try {
        return await api.projects.update({ params: { id: project.id }, body });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    if (await acts.run(work, { done: text.saved, stale })) onClose();
  };
  return (
    <Dialog title={text.edit} onClose={onClose} wide>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <ProjectForm draft={draft} onDraft={setDraft} problems={problems} />
        <Button look="primary" type="submit">
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}
