import type { Invariant } from './invariant.ts';

/** Sessions, prompts, uploads and transcripts. */
export const textInvariants: readonly Invariant[] = [
  {
    says: 'events of a session are numbered from 1 without a gap, to the last',
    sql: `select s.id, s.seq, count(e.seq), max(e.seq) from sessions.sessions s
      left join sessions.events e on e.session_id = s.id
      group by s.id having s.seq <> count(e.seq) or s.seq <> coalesce(max(e.seq), 0)`,
  },
  {
    says: 'the bytes of a session are at least those of its events',
    sql: `select s.id, s.bytes from sessions.sessions s join sessions.events e on e.session_id = s.id
      group by s.id having s.bytes < sum(coalesce(octet_length(e.text), 0) + coalesce(octet_length(e.data::text), 0))`,
  },
  {
    says: 'a launch that is not over has its session and its control',
    sql: `select r.id, r.state from prompts.runs r where r.state in ('waiting', 'taken', 'running') and not exists
      (select from sessions.controls c where c.id = r.control_id and c.session_id = r.session_id)`,
  },
  {
    says: 'a launch waits as long as its control does',
    sql: `select r.id, r.state, c.acked_at, c.withdrawn_at from prompts.runs r join sessions.controls c on c.id = r.control_id
      where (r.state = 'waiting') <> (c.acked_at is null and c.withdrawn_at is null) and r.state in ('waiting', 'taken')`,
  },
  {
    says: 'a prompt that was launched has its launch',
    sql: `select id from prompts.prompts p where state = 'launched' and not exists
      (select from prompts.runs r where r.prompt_id = p.id and r.session_id = p.run_session_id)`,
  },
  {
    says: 'a prompt that matched names its turn, and one that is closed is armed no more',
    sql: `select id, state from prompts.prompts where (state in ('sent', 'answered') and match_turn_id is null)
      or (state in ('done', 'dismissed', 'superseded', 'verified') and (armed_at is not null or reminds))`,
  },
  {
    says: 'a prompt can be matched by its words as long as a turn may match it, and no longer',
    sql: `select id, state from prompts.prompts p
      where (state in ('open', 'launched', 'sent', 'answered')) <>
        exists (select from prompts.words w where w.prompt_id = p.id)`,
  },
  {
    says: 'an upload stands where its pieces end, and is complete there',
    // What was deleted, or was a transcript's that is deleted, expires at that instant, and has no pieces any more.
    sql: `select u.id, u.at, u.length from uploads.uploads u where u.transcript_id is null
        and (u.expires_at is null or u.expires_at > u.created_at + interval '1 minute')
        and (u.completed_at is null or u.expires_at = u.completed_at + interval '24 hours')
      group by u.id having u.at > u.length or (u.completed_at is not null) <> (u.at = u.length)
        or u.at <> coalesce((select sum(p.bytes) from uploads.parts p where p.upload_id = u.id), 0)`,
  },
  {
    says: 'an upload that a transcript has is one of its tracks, and the other way round',
    sql: `select coalesce(u.id, t.upload_id) as id from uploads.uploads u
      full join transcripts.tracks t on t.upload_id = u.id
      where u.transcript_id is distinct from t.transcript_id`,
  },
  {
    says: 'a step that runs has a gateway and a lease, and no other has',
    sql: `select id, state from transcripts.steps
      where (state = 'running') <> (lease_until is not null) or (state = 'running') <> (gateway_id is not null)`,
  },
  {
    // Vectors are made beside the rest: a transcript is ready before.
    says: 'a transcript that is worked on has a step that is not done, and one that is over has none but vectors',
    sql: `select t.id, t.state from transcripts.transcripts t where
      (t.state in ('queued', 'transcribing', 'analyzing')) <> exists (select from transcripts.steps s
        where s.transcript_id = t.id and s.generation = t.generation and s.state in ('waiting', 'running')
          and (s.kind <> 'vectors' or t.state <> 'ready'))
      and t.state <> 'failed'`,
  },
  {
    says: 'utterances of a speaker are counted as they are',
    sql: `select s.transcript_id, s.label, s.utterance_count from transcripts.speakers s
      where s.utterance_count <> (select count(*) from transcripts.utterances u
        where u.transcript_id = s.transcript_id and u.speaker = s.label)`,
  },
];
