import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { Rows } from '../../ui/List.tsx';
import { Empty } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Share = Awaited<ReturnType<typeof api.transcripts.listShares>>['shares'][number];
const expiries = ['', '1', '7', '30', '365'] as const;

/** Links by which anybody reads the text: made, seen and revoked. */
export function Shares({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const [days, setDays] = useState<string>('7');
  const [url, setUrl] = useState<string>();
  const params = { id };
  const answer = useRows<Share>(['transcripts', id, 'shares'], async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { shares, next_cursor: next } = await api.transcripts.listShares({ params, query });
    return { rows: shares, next };
  });
  const make = async (): Promise<void> => {
    const body = days === '' ? {} : { expiresInDays: Number(days) };
    const made = await acts.run(async () => api.transcripts.share({ params, body }));
    if (made) setUrl(made.url);
    answer.again();
  };
  return (
    <Dialog title={text.share} onClose={onClose} wide>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <p>{text.shareText}</p>
        <SelectField
          label={text.expires}
          value={days}
          onInput={setDays}
          options={expiries.map((one) => [one, text.expiries[one]] as const)}
        />
        <div>
          <Button look="primary" type="submit" onPress={make}>
            {text.makeLink}
          </Button>
        </div>
      </form>
      {url !== undefined && (
        <div class="stack" role="status">
          <p>{text.linkOnce}</p>
          <CopyText text={url} />
        </div>
      )}
      <h3>{text.links}</h3>
      <Rows
        answer={answer}
        label={text.links}
        empty={<Empty>{text.noLinks}</Empty>}
        row={(share) => <ShareRow id={id} share={share} onRevoked={answer.again} />}
      />
    </Dialog>
  );
}

function ShareRow({ id, share, onRevoked }: { id: string; share: Share; onRevoked: () => void }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const { id: shareId, createdAt, expiresAt, views, lastViewedAt } = share;
  const revoke = async (): Promise<void> => {
    const work = async () => api.transcripts.revokeShare({ params: { id, shareId } });
    await acts.run(work, { done: text.revoked });
    onRevoked();
  };
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          {text.linkMade} <Time at={createdAt} />
        </span>
        <span class="row-detail">
          {expiresAt === null ? text.linkNever : `${text.linkEnds} `}
          {expiresAt !== null && <Time at={expiresAt} />}
          {` · ${text.views(views)} `}
          {lastViewedAt !== null && <Time at={lastViewedAt} />}
        </span>
      </span>
      <Button look="danger" onPress={revoke}>
        {text.revoke}
      </Button>
    </div>
  );
}
