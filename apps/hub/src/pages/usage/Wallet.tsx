import { api } from '../../api/client.ts';
import { useAnswer, useRows } from '../../api/queries.ts';
import { Rows } from '../../ui/List.tsx';
import { Section } from '../../ui/Page.tsx';
import { Answered, Empty } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useLocale, useWords } from '../../words/words.tsx';
import { money } from '../sandboxes/sandboxes.ts';

type Entry = Awaited<ReturnType<typeof api.wallet.entries>>['entries'][number];

/** The prepaid balance, and what came in and was taken. */
export function Wallet() {
  const text = useWords().usage;
  const { locale } = useLocale();
  const answer = useAnswer(['wallet', 'balance'], async () => api.wallet.get());
  const entries = useRows<Entry>(['wallet', 'entries'], async (cursor) => {
    const query = { limit: 50, ...(cursor !== undefined && { cursor }) };
    const { entries: rows, next_cursor: next } = await api.wallet.entries({ query });
    return { rows, next };
  });
  return (
    <>
      <Answered answer={answer} rows={1}>
        {({ balance_micro_eur: balance, unpaid_micro_eur: unpaid, billing }) => (
          <>
            <dl class="pairs">
              <dt>{text.balance}</dt>
              <dd class="balance">{money(balance, locale)}</dd>
              {unpaid > 0 && (
                <>
                  <dt>{text.unpaid}</dt>
                  <dd>{money(unpaid, locale)}</dd>
                </>
              )}
            </dl>
            {!billing && <p class="hint">{text.noBilling}</p>}
          </>
        )}
      </Answered>
      <Section title={text.entries}>
        <Rows
          answer={entries}
          label={text.entries}
          estimate={60}
          empty={<Empty>{text.noEntries}</Empty>}
          row={(entry) => <EntryRow entry={entry} />}
        />
      </Section>
    </>
  );
}

function EntryRow({ entry: { kind, note, amount_micro_eur: amount, at } }: { entry: Entry }) {
  const text = useWords().usage;
  const { locale } = useLocale();
  const kinds: Record<string, string> = text.kinds;
  return (
    <div class="row log-row">
      <span class="row-main">
        <span class="row-title">{kinds[kind] ?? kind}</span>
        <span class="row-detail">{note}</span>
      </span>
      <span>{money(amount, locale)}</span>
      <Time at={at} />
    </div>
  );
}
