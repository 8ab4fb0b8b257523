import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { CurlButton } from '../../ui/Copy.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status, type Tone } from '../../ui/Status.tsx';
import { size } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { Backups } from './Backups.tsx';
import { People } from './People.tsx';

type Installation = Awaited<ReturnType<typeof api.system.get>>;
type Image = Installation['sandbox_nodes'][number]['images'][number];
const imageTones: Record<Image['state'], Tone> = { ready: 'good', building: 'busy', absent: 'rest', failed: 'bad' };
const everyMs = 15_000;

/** How the installation does, and who uses it; for its operators. */
export function System() {
  const words = useWords();
  const answer = useAnswer(['system'], async () => api.system.get(), { everyMs });
  return (
    <Page title={words.system.title}>
      <Answered answer={answer}>
        {(found) => (
          <>
            <Checks checks={found.checks} missing={missingOf(found)} />
            <Facts found={found} />
            <Nodes nodes={found.sandbox_nodes} />
            <Providers providers={found.providers} />
          </>
        )}
      </Answered>
      <Backups />
      <People />
      <div class="foot">
        <CurlButton path="/v1/system" />
      </div>
    </Page>
  );
}

type Missing = 'mail' | 'https' | 'providers';
/** What nobody set up: nothing of it is broken, and each keeps something from people. */
const missingOf = ({ mail, https, providers }: Installation): Missing[] => [
  ...(mail.configured ? [] : (['mail'] as const)),
  ...(https ? [] : (['https'] as const)),
  ...(providers.length > 0 ? [] : (['providers'] as const)),
];

/** What is broken or not set up stands in sight with its mend; what is well is folded away. */
function Checks({ checks, missing }: { checks: Installation['checks']; missing: Missing[] }) {
  const text = useWords().system;
  const bad = checks.filter(({ ok }) => !ok);
  const good = checks.filter(({ ok }) => ok);
  return (
    <Section title={text.checks}>
      {bad.length > 0 && <CheckList checks={bad} />}
      {missing.length > 0 && (
        <ul class="rows">
          {missing.map((name) => (
            <li key={name} class="row padded">
              <Status tone="warn">{text.notSetUp}</Status>
              <span class="row-main">
                <span class="row-title">{text.missing[name].title}</span>
                <span class="row-detail">{text.missing[name].text}</span>
              </span>
              <p class="check-fix">{text.missing[name].fix}</p>
            </li>
          ))}
        </ul>
      )}
      {bad.length === 0 && (
        <p class="well">
          <Icon name="check" />
          {missing.length === 0 ? text.allWell : text.restWell}
        </p>
      )}
      {good.length > 0 && (
        <details>
          <summary>{text.wellCount(good.length)}</summary>
          <CheckList checks={good} />
        </details>
      )}
    </Section>
  );
}

function CheckList({ checks }: { checks: Installation['checks'] }) {
  const text = useWords().system;
  return (
    <ul class="rows">
      {checks.map(({ name, ok, detail, fix }) => (
        <li key={name} class="row padded">
          <Status tone={ok ? 'good' : 'bad'}>{ok ? text.good : text.bad}</Status>
          <span class="row-main">
            <span class="row-title">{name}</span>
            <span class="row-detail">{detail}</span>
          </span>
          {!ok && fix !== undefined && <p class="check-fix">{fix}</p>}
        </li>
      ))}
    </ul>
  );
}

function Facts({ found }: { found: Installation }) {
  const words = useWords();
  const text = words.system;
  const { version, started_at: started, urls, https, disk, mail, gateways } = found;
  return (
    <Section title={text.addresses}>
      <dl class="pairs narrow">
        <dt>{text.version}</dt>
        <dd>
          {version} · {text.started} <Time at={started} />
        </dd>
        {(Object.keys(urls) as (keyof typeof urls)[]).flatMap((name) => [
          <dt key={`${name}-name`}>{text.urls[name]}</dt>,
          <dd key={name}>{urls[name]}</dd>,
        ])}
        <dt>{text.https}</dt>
        <dd>{https ? words.yes : words.no}</dd>
        <dt>{text.mail}</dt>
        <dd>{mail.configured ? (mail.from === undefined ? words.yes : text.mailFrom(mail.from)) : text.noMail}</dd>
        <dt>{text.disk}</dt>
        <dd>{text.diskFree(size(disk.free_bytes), size(disk.total_bytes))}</dd>
        <dt>{text.gateways}</dt>
        <dd>
          <ul>
            {gateways.map(({ id, answers_this: isThis, part }) => (
              <li key={id}>
                <code>{id}</code>
                {part !== undefined && part !== 'all' && <span class="hint"> {text.parts[part]}</span>}
                {isThis && <span class="hint"> {text.thisGateway}</span>}
              </li>
            ))}
          </ul>
        </dd>
      </dl>
    </Section>
  );
}

function Nodes({ nodes }: { nodes: Installation['sandbox_nodes'] }) {
  const text = useWords().system;
  const imageText = ({ template, state, percent }: Image): string =>
    `${template}: ${text.images[state]}${percent === undefined ? '' : ` ${Math.round(percent)} %`}`;
  return (
    <Section title={text.nodes}>
      {nodes.length === 0 && <p class="hint">{text.noNodes}</p>}
      {nodes.length > 0 && (
        <ul class="rows">
          {nodes.map(({ id, slots, used, backends, images }) => (
            <li key={id} class="row padded">
              <span class="row-main">
                <span class="row-title">{id}</span>
                <span class="row-detail">{[text.slots(used, slots), ...backends].join(' · ')}</span>
                <span class="plain-list">
                  {images.map((image) => (
                    <Status key={image.template} tone={imageTones[image.state]}>
                      {imageText(image)}
                    </Status>
                  ))}
                </span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Providers({ providers }: { providers: Installation['providers'] }) {
  const text = useWords().system;
  return (
    <Section title={text.providers}>
      {providers.length === 0 && <p class="hint">{text.noProviders}</p>}
      {providers.length > 0 && (
        <ul class="rows">
          {providers.map(({ id, kind, label, healthy }) => (
            <li key={id} class="row padded">
              <span class="row-main">
                <span class="row-title">{label}</span>
                <span class="row-detail">{kind}</span>
              </span>
              <Status tone={healthy ? 'good' : 'bad'}>{healthy ? text.healthy : text.unhealthy}</Status>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
