import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Section } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { isAtLeast, type Port, type Role, stale, type Whole } from './environments.ts';
import { PortLink } from './PortLink.tsx';
import { type PortDraft, PublishPort } from './PublishPort.tsx';

interface Listener {
  port: number;
  pid: number | null;
  process: string | null;
}

/** Published ports, and those that something on the machine listens at. */
export function Ports({ whole, listeners }: { whole: Whole; listeners: readonly Listener[] }) {
  const words = useWords();
  const text = words.ports;
  const [draft, setDraft] = useState<Partial<PortDraft>>();
  const { environment, role, ports } = whole;
  const isDeveloper = isAtLeast(role, 'developer');
  const others = listeners.filter(({ port }) => !ports.some((published) => published.port === port));
  const { roles, needs } = words.environments;
  return (
    <Section
      title={text.title}
      acts={
        isDeveloper ? (
          <Button icon="add" onPress={() => setDraft({})}>
            {text.publish}
          </Button>
        ) : (
          <p class="hint">{needs(roles.developer, roles[role])}</p>
        )
      }
    >
      {ports.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <ul class="rows" aria-label={text.title}>
          {ports.map((port) => (
            <li key={port.id}>
              <PortRow port={port} role={role} onChange={() => setDraft(draftOf(port))} />
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <>
          <h3>{text.listening}</h3>
          <ul class="rows" aria-label={text.listening}>
            {others.map(({ port, pid, process }) => (
              <li key={port} class="row padded">
                <span class="row-main">
                  <span class="row-title">{port}</span>
                  <span class="row-detail">{text.byProcess(process ?? text.unknownProcess, pid)}</span>
                </span>
                {isDeveloper && (
                  <Button onPress={() => setDraft({ port: String(port), label: process?.slice(0, 64) ?? '' })}>
                    {text.publishOne}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {draft && <PublishPort id={environment.id} role={role} given={draft} onClose={() => setDraft(undefined)} />}
    </Section>
  );
}

const draftOf = ({ port, label, visibility }: Port): PortDraft => ({
  port: String(port),
  label: label ?? '',
  visibility,
});

function PortRow({ port, role, onChange }: { port: Port; role: Role; onChange: () => void }) {
  const words = useWords();
  const text = words.ports;
  const acts = useActs();
  const [isLinking, setLinking] = useState(false);
  const { environmentId: id, port: number, label, visibility } = port;
  const remove = (): Promise<unknown> =>
    acts.run(async () => api.environments.removePort({ params: { id, port: number } }), { done: text.removed, stale });
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          {number} {label !== null && <bdi>{label}</bdi>}
        </span>
        <span class="row-detail">{text.visibilities[visibility]}</span>
      </span>
      {(visibility !== 'owner' || isAtLeast(role, 'developer')) && (
        <Button onPress={() => setLinking(true)}>{text.link}</Button>
      )}
      {isAtLeast(role, 'developer') && (
        <Menu
          label={words.moreActs}
          items={[
            { label: text.change, act: onChange },
            { label: text.remove, act: remove, isDanger: true },
          ]}
        />
      )}
      {isLinking && <PortLink id={id} port={number} onClose={() => setLinking(false)} />}
    </div>
  );
}
