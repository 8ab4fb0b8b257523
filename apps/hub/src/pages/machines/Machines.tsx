import { useState } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { SearchBox } from '../../ui/SearchBox.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { Invite } from './Invite.tsx';

/** A machine of the API; lists want an `id`. */
export type MachineRecord = Awaited<ReturnType<typeof api.machines.get>>;

/** Every machine: those that are here, and those that are away. */
export function Machines() {
  const words = useWords();
  const text = words.machines;
  const [params, setParams] = useSearchParams();
  const [isInviting, setInviting] = useState(params.has('invite'));
  const wanted = { q: params.get('q') ?? '', online: params.get('online') ?? '' };
  const answer = useRows<MachineRecord & { id: string }>(['machines', 'list', wanted], async (cursor) => {
    const query = {
      limit: 100,
      ...(wanted.q !== '' && { q: wanted.q }),
      ...(wanted.online !== '' && { online: wanted.online as 'true' }),
      ...(cursor !== undefined && { cursor }),
    };
    const { machines, next_cursor: next } = await api.machines.list({ query });
    return { rows: machines.map((machine) => ({ ...machine, id: machine.device_id })), next };
  });
  const set = (next: typeof wanted): void =>
    setParams(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== '')), { replace: true });
  const close = (): void => {
    setInviting(false);
    // A reload does not open it again.
    if (params.has('invite')) set(wanted);
  };
  const invite = (
    <Button look="primary" icon="add" onPress={() => setInviting(true)}>
      {text.invite}
    </Button>
  );
  return (
    <Page title={text.title} acts={invite}>
      <div class="tools">
        <SearchBox value={wanted.q} onSearch={(q) => set({ ...wanted, q })} />
        <Filter
          label={text.title}
          value={wanted.online}
          onChange={(online) => set({ ...wanted, online })}
          options={[
            ['', words.all],
            ['true', text.here],
            ['false', text.away],
          ]}
        />
      </div>
      <Rows
        answer={answer}
        label={text.title}
        row={(machine) => <MachineRow machine={machine} />}
        empty={<Empty act={invite}>{text.empty}</Empty>}
      />
      <div class="foot">
        <CurlButton path="/v1/machines" />
      </div>
      {isInviting && <Invite onClose={close} />}
    </Page>
  );
}

function MachineRow({ machine }: { machine: MachineRecord }) {
  const words = useWords();
  const text = words.machines;
  const {
    device_id: id,
    name,
    platform,
    hostname,
    online,
    paused,
    tags,
    running,
    approvals_waiting: waiting,
  } = machine;
  return (
    <div class="row">
      <Link href={`/machines/${id}`} class="row-link">
        <Status tone={online ? (paused ? 'rest' : 'good') : 'warn'} {...(!online && { icon: 'away' as const })}>
          {online ? (paused ? text.paused : text.here) : text.away}
        </Status>
        <span class="row-main">
          <span class="row-title">{name}</span>
          <span class="row-detail">
            {[hostname, platform].filter(Boolean).join(' · ')}
            {running > 0 && ` · ${text.runs(running)}`}
            {tags.map((tag) => (
              <span class="tag" key={tag}>
                {tag}
              </span>
            ))}
          </span>
        </span>
        {waiting > 0 && <Status tone="warn">{text.waiting(waiting)}</Status>}
        <Time at={machine.last_seen} />
      </Link>
    </div>
  );
}
