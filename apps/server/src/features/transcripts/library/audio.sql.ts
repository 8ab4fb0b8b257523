import type { Db } from '../../../kernel/db/db.ts';

/** A track that can be played. */
interface PlayableRow {
  account_id: string;
  upload_id: string;
  bytes: number;
  content_type: string;
}

/** The audio of a track of an account that may have transcripts. */
export async function findPlayable(db: Db, id: string, track: string): Promise<PlayableRow | undefined> {
  const [row] = await db<PlayableRow[]>`
    select t.account_id, t.upload_id, t.bytes, t.content_type
    from transcripts.tracks t join accounts.standing_view a on a.id = t.account_id
    where t.transcript_id = ${id} and t.track = ${track} and t.is_joined
      and a.may_run and coalesce((a.features->>'transcripts')::boolean, true)`;
  return row;
}

/** Whether the audio of a track is stored. */
export async function hasAudio(db: Db): Promise<boolean> {
  const [row] = await db<{ yes: boolean }[]>`select exists (select from transcripts.tracks where is_joined) as yes`;
  return row?.yes ?? false;
}
