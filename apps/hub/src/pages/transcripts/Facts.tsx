import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Status } from '../../ui/Status.tsx';
import { duration } from '../../ui/time.rules.ts';
import { Clock, Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { stale, stateTone, type TranscriptRecord } from './transcripts.ts';

/** When and how long it was recorded, how far it is, and what was not done. */
export function Facts({ transcript }: { transcript: TranscriptRecord }) {
  const text = useWords().transcripts;
  const { status, started_at: at, duration_ms: ms, source, tags, consent, audio_purged_at: purged } = transcript;
  const { audio_expires_at: expires, degraded, edits_lost: lost } = transcript;
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={stateTone[status]}>{text.states[status]}</Status>
        <span>
          <Clock at={at} />
        </span>
        {ms !== null && <span>{duration(ms)}</span>}
        <span>{source}</span>
        {tags.map((tag) => (
          <span class="tag" key={tag}>
            {tag}
          </span>
        ))}
      </p>
      <Progress transcript={transcript} />
      {purged !== null && (
        <p class="box note">
          <span>
            {text.purged} <Time at={purged} />. {text.purgedText}
          </span>
        </p>
      )}
      {purged === null && expires !== null && (
        <p class="hint">
          {text.soundUntil} <Clock at={expires} />
        </p>
      )}
      {consent !== null && (
        <p class="hint">
          {text.consent}: {consent}
        </p>
      )}
      {status === 'ready' &&
        degraded.map((lack) => (
          <p class="hint" key={lack}>
            {text.lacks[lack]}
          </p>
        ))}
      {lost > 0 && <p class="hint">{text.editsLost(lost)}</p>}
    </div>
  );
}

/** What is under way, or why it failed and the button that mends it. */
function Progress({ transcript }: { transcript: TranscriptRecord }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const { id, status, processing, error, last_error: lastError, audio_purged_at: purged } = transcript;
  if (status === 'failed') {
    const params = { id };
    const mend =
      purged === null
        ? () => acts.run(async () => api.transcripts.retranscribe({ params }), { done: text.retranscribed, stale })
        : () => acts.run(async () => api.transcripts.reanalyze({ params }), { done: text.reanalyzed, stale });
    return (
      <div class="box problem" role="alert">
        <div>
          <p>{error ?? lastError ?? text.states.failed}</p>
          <p class="hint">{text.failedText}</p>
        </div>
        <Button look="primary" onPress={mend}>
          {purged === null ? text.retranscribe : text.reanalyze}
        </Button>
      </div>
    );
  }
  if (status === 'recording') return <p>{text.recordingText}</p>;
  if (!processing) return null;
  const { step, attempts, max_attempts: most, last_error: why, next_attempt_at: next } = processing;
  return (
    <div class="box note" role="status">
      <div>
        <p>
          {text.steps[step]}
          {attempts > 1 && `, ${text.stepTry(attempts, most)}`}
          {next !== null && (
            <>
              {`, ${text.stepNext} `}
              <Time at={next} />
            </>
          )}
        </p>
        {why !== null && <p class="hint">{why}</p>}
      </div>
    </div>
  );
}
