import { useState } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Button, ButtonLink } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { SearchBox } from '../../ui/SearchBox.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Clock } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { Ask } from './Ask.tsx';
import { Folders, useFolders } from './Folders.tsx';
import { clockOf } from './player.rules.ts';
import { Search } from './Search.tsx';
import { stateTone, type TranscriptRow } from './transcripts.ts';
import { NewUpload, Shared, Uploads } from './Uploads.tsx';

const shownStates = ['ready', 'failed', 'recording'] as const;

/** A search costs: one letter finds nothing of use. */
const fewestLetters = 2;

/** Every recording, newest first. */
export function Transcripts() {
  const words = useWords();
  const text = words.transcripts;
  const [params, setParams] = useSearchParams();
  const wanted = { q: params.get('q') ?? '', show: params.get('show') ?? '', folder: params.get('folder') ?? '' };
  const set = (name: keyof typeof wanted, value: string): void =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  const status = shownStates.find((one) => one === wanted.show);
  const answer = useRows<TranscriptRow>(['transcripts', 'list', wanted], async (cursor) => {
    const query = {
      limit: 100,
      ...(wanted.q !== '' && { q: wanted.q }),
      ...(wanted.folder !== '' && { folder_id: wanted.folder }),
      ...(status !== undefined && { status }),
      ...(wanted.show === 'pinned' && { pinned: 'true' as const }),
      ...(cursor !== undefined && { cursor }),
    };
    const { transcripts, next_cursor: next } = await api.transcripts.list({ query });
    return { rows: transcripts, next };
  });
  const folders = useFolders().data ?? [];
  const [isNew, setNew] = useState(false);
  const [shared, setShared] = useState<File>();
  const create = (
    <Button look="primary" icon="add" onPress={() => setNew(true)}>
      {text.new}
    </Button>
  );
  const [isAsking, setAsking] = useState(false);
  const isFiltered = wanted.q !== '' || wanted.show !== '' || wanted.folder !== '';
  const list = (
    <Rows
      answer={answer}
      label={text.title}
      row={(one) => <RecordingRow transcript={one} />}
      empty={<Empty act={!isFiltered && create}>{isFiltered ? text.emptyFiltered : text.empty}</Empty>}
    />
  );
  return (
    <Page
      title={text.title}
      acts={
        <>
          <Button icon="search" onPress={() => setAsking(true)}>
            {text.ask}
          </Button>
          {create}
        </>
      }
    >
      <Shared onUpload={setShared} />
      <Uploads />
      <div class="tools">
        <SearchBox value={wanted.q} onSearch={(value) => set('q', value)} />
        <Folders folders={folders} value={wanted.folder} onChange={(value) => set('folder', value)} />
        <Filter
          label={text.title}
          value={wanted.show}
          onChange={(value) => set('show', value)}
          options={[
            ['', words.all],
            ...shownStates.map((one) => [one, text.states[one]] as const),
            ['pinned', text.pinned],
          ]}
        />
      </div>
      {wanted.q === '' ? list : <Section title={text.byTitle}>{list}</Section>}
      {wanted.q.length >= fewestLetters && <Search q={wanted.q} folder={wanted.folder} />}
      <div class="foot">
        <ButtonLink to="/transcripts/vocabulary" look="quiet">
          {text.vocabulary}
        </ButtonLink>
        <CurlButton path="/v1/transcripts" />
      </div>
      {(isNew || shared) && (
        <NewUpload
          shared={shared}
          folders={folders}
          folder={wanted.folder}
          onClose={() => {
            setNew(false);
            setShared(undefined);
          }}
        />
      )}
      {isAsking && <Ask folder={folders.find(({ id }) => id === wanted.folder)} onClose={() => setAsking(false)} />}
    </Page>
  );
}

function RecordingRow({ transcript }: { transcript: TranscriptRow }) {
  const text = useWords().transcripts;
  const { id, status, title, started_at: at, duration_ms: ms, speakers, tags, pinned_at: pinned } = transcript;
  const names = speakers.map(({ name }) => name).filter((name) => name !== null);
  return (
    <div class="row">
      <Link href={`/transcripts/${id}`} class="row-link">
        <Status tone={stateTone[status]}>{text.states[status]}</Status>
        <span class="row-main">
          <span class="row-title">{title}</span>
          <span class="row-detail">
            {ms !== null && clockOf(ms)}
            {names.length > 0 && ` · ${names.join(', ')}`}
            {pinned !== null && <span class="tag">{text.pinned}</span>}
            {tags.map((tag) => (
              <span class="tag" key={tag}>
                {tag}
              </span>
            ))}
          </span>
        </span>
        <span class="time">
          <Clock at={at} />
        </span>
      </Link>
    </div>
  );
}
