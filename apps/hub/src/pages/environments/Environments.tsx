import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered, Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { type EnvironmentRecord, type ProjectRecord, reasonOf, stateTone } from './environments.ts';
import { Invitations } from './Invitations.tsx';
import { NewEnvironment } from './NewEnvironment.tsx';
import { NewProject } from './NewProject.tsx';

/** Projects with their environments. The limits of an account are below a page of each. */
export function Environments() {
  const words = useWords();
  const text = words.environments;
  const [isNewProject, setNewProject] = useState(false);
  const [within, setWithin] = useState<ProjectRecord>();
  const answer = useAnswer(['environments', 'list'], async () => {
    const [{ projects }, { environments }] = await Promise.all([
      api.projects.list({ query: {} }),
      api.environments.list({ query: {} }),
    ]);
    return { projects, environments };
  });
  const create = (
    <Button look="primary" icon="add" onPress={() => setNewProject(true)}>
      {words.projects.new}
    </Button>
  );
  return (
    <Page title={text.title} lead={text.lead} acts={create}>
      <Invitations />
      <Answered answer={answer}>
        {({ projects, environments }) => {
          const known = new Set(projects.map(({ id }) => id));
          const shared = environments.filter(({ projectId }) => !known.has(projectId));
          return (
            <>
              {projects.length + environments.length === 0 && <Empty act={create}>{text.empty}</Empty>}
              {projects.map((project) => (
                <ProjectPart
                  key={project.id}
                  project={project}
                  environments={environments.filter(({ projectId }) => projectId === project.id)}
                  onNew={() => setWithin(project)}
                />
              ))}
              {shared.length > 0 && (
                <Section title={text.shared}>
                  <EnvironmentRows environments={shared} />
                </Section>
              )}
            </>
          );
        }}
      </Answered>
      <div class="foot">
        <CurlButton path="/v1/environments" />
      </div>
      {isNewProject && <NewProject onClose={() => setNewProject(false)} />}
      {within && <NewEnvironment project={within} onClose={() => setWithin(undefined)} />}
    </Page>
  );
}

function ProjectPart({
  project,
  environments,
  onNew,
}: {
  project: ProjectRecord;
  environments: EnvironmentRecord[];
  onNew: () => void;
}) {
  const words = useWords();
  return (
    <section class="section">
      <header class="section-head">
        <h2>
          <Link href={`/projects/${project.id}`} class="head-link">
            <bdi>{project.name}</bdi>
          </Link>
        </h2>
        <Button icon="add" onPress={onNew}>
          {words.environments.new}
        </Button>
      </header>
      {project.repoUrl !== null && <p class="hint">{project.repoUrl}</p>}
      {environments.length === 0 ? (
        <p class="hint">{words.projects.none}</p>
      ) : (
        <EnvironmentRows environments={environments} />
      )}
    </section>
  );
}

/** Environments as rows, each with its state and why. */
export function EnvironmentRows({ environments }: { environments: EnvironmentRecord[] }) {
  const words = useWords();
  const text = words.environments;
  return (
    <ul class="rows" aria-label={text.title}>
      {environments.map((one) => (
        <li key={one.id} class="row">
          <Link href={`/environments/${one.id}`} class="row-link">
            <Status tone={stateTone[one.state]}>{text.states[one.state]}</Status>
            <span class="row-main">
              <span class="row-title">
                <bdi>{one.name}</bdi>
              </span>
              <span class="row-detail">
                {[one.slug, one.provider !== 'byo' && text.providers[one.provider], reasonOf(one, words)]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </span>
            {one.lastActivityAt !== null && <Time at={one.lastActivityAt} />}
          </Link>
        </li>
      ))}
    </ul>
  );
}
