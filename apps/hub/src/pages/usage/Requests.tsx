import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { now } from '../../api/clock.ts';
import { useAnswer } from '../../api/queries.ts';
import { SelectField } from '../../ui/Field.tsx';
import { Answered, Empty } from '../../ui/State.tsx';
import { duration, size } from '../../ui/time.rules.ts';
import { useLocale, useWords } from '../../words/words.tsx';
import { useAllKeys } from '../keys/keys.ts';

type Group = Awaited<ReturnType<typeof api.usage.requests>>['usage'][number];
const ways = ['day', 'feature', 'key', 'device'] as const;
type Way = (typeof ways)[number];
const spans = ['7', '30', '92'] as const;
const dayMs = 86_400_000;
/** Instants of a query are whole minutes: one query in a minute, not one at each drawing. */
const minuteMs = 60_000;

/** Requests by day, feature, key or device, each with a bar as long as its share of the most. */
export function Requests() {
  const words = useWords();
  const text = words.usage;
  const { locale } = useLocale();
  const [params, setParams] = useSearchParams();
  const by = ways.find((way) => way === params.get('by')) ?? 'day';
  const days = spans.find((span) => span === params.get('days')) ?? '30';
  const answer = useAnswer(['usage', 'requests', by, days], async () => {
    const to = Math.ceil(now() / minuteMs) * minuteMs;
    const query = { by, to: new Date(to).toISOString(), from: new Date(to - Number(days) * dayMs).toISOString() };
    return (await api.usage.requests({ query })).usage;
  });
  const nameOf = useGroupNames(by);
  const set = (name: string, value: string): void =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return (
    <>
      <div class="pair">
        <SelectField
          label={text.by}
          value={by}
          onInput={(value) => set('by', value)}
          options={Object.entries(text.groups)}
        />
        <SelectField
          label={text.span}
          value={days}
          onInput={(value) => set('days', value)}
          options={Object.entries(text.spans)}
        />
      </div>
      <Answered answer={answer}>
        {(groups) =>
          groups.length === 0 ? (
            <Empty>{text.empty}</Empty>
          ) : (
            <>
              <p class="hint">{text.total(groups.reduce((sum, { requests }) => sum + requests, 0))}</p>
              <table class="table usage">
                <caption class="unseen">{text.views.requests}</caption>
                <thead>
                  <tr>
                    <th scope="col">{text.groups[by]}</th>
                    <th scope="col" class="wide">
                      {text.requests}
                    </th>
                    <th scope="col">{text.errors}</th>
                  </tr>
                </thead>
                <tbody>
                  {groups.map((group) => (
                    <GroupRow
                      key={group.group}
                      group={group}
                      name={nameOf(group.group)}
                      most={Math.max(...groups.map(({ requests }) => requests))}
                      locale={locale}
                    />
                  ))}
                </tbody>
              </table>
            </>
          )
        }
      </Answered>
    </>
  );
}

/** How a group is called: ids of keys and devices by their names. */
function useGroupNames(by: Way): (group: string) => string {
  const { usage: text } = useWords();
  const { locale } = useLocale();
  const keys = useAllKeys();
  const devices = useAnswer(['devices', 'all'], async () => (await api.devices.list({ query: {} })).devices, {
    enabled: by === 'device',
  });
  const names = new Map([...(keys.data ?? []), ...(devices.data ?? [])].map(({ id, name }) => [id, name]));
  return (group) => {
    if (by === 'day')
      return new Date(group).toLocaleDateString(locale, {
        timeZone: 'UTC',
        weekday: 'short',
        day: 'numeric',
        month: 'short',
      });
    if (group === 'none') return text.noDevice;
    if (group === 'other') return text.others;
    return names.get(group) ?? group;
  };
}

const widest = 100;

function GroupRow({ group, name, most, locale }: { group: Group; name: string; most: number; locale: string }) {
  const text = useWords().usage;
  const { requests, errors, bytes, cost_micro_usd: cost, exec_seconds: ran } = group;
  const width = (count: number): number => (most === 0 ? 0 : (count / most) * widest);
  const money = (cost / 1_000_000).toLocaleString(locale, {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: 4,
  });
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
      </th>
      <td class="wide">
        {requests.toLocaleString(locale)}
        <svg class="usage-bar" viewBox={`0 0 ${widest} 8`} preserveAspectRatio="none" aria-hidden="true">
          <rect width={width(requests)} height="8" rx="1" />
          <rect class="bad" width={width(errors)} height="8" rx="1" />
        </svg>
        <span class="hint">
          {[text.more(size(bytes)), cost > 0 && money, ran > 0 && text.ran(duration(ran * 1_000))]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </td>
      <td>{errors.toLocaleString(locale)}</td>
    </tr>
  );
}
