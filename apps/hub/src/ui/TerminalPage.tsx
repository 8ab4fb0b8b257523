import { useState } from 'preact/hooks';
import { now } from '../api/clock.ts';
import { useMe } from '../api/me.ts';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';
import { Frame } from './Frame.tsx';
import { Page } from './Page.tsx';
import { Reauth } from './Reauth.tsx';

/** The API wants a proof of who types on a machine of a person's, not older than this (milliseconds). */
const proofMs = 12 * 3_600_000;

/** A page with a terminal and nothing else. `needsProof`: who opens it has to have shown lately who they are. */
export function TerminalPage({
  query,
  name,
  back,
  needsProof = false,
}: {
  query: Record<string, string>;
  /** Of the machine. */
  name: string;
  back: { to: string; label: string };
  needsProof?: boolean;
}) {
  const words = useWords();
  const { data: me } = useMe();
  const [provenAt, setProvenAt] = useState(0);
  const [isAsked, setAsked] = useState(false);
  const [isRefused, setRefused] = useState(false);
  const last = Math.max(provenAt, Date.parse(me?.actor.auth_time ?? '') || 0);
  const isProven = !needsProof || now() - last < proofMs;
  return (
    <Page title={words.terminal.title(name)} back={back} wide>
      {isProven && (
        <Frame
          key={provenAt}
          name="terminal"
          query={query}
          title={words.terminal.title(name)}
          onRefused={() => setRefused(true)}
        />
      )}
      {/* A proof gets old under an open page, and the clock of a device may be wrong. */}
      {(!isProven || (needsProof && isRefused)) && (
        <div class="stack">
          <p>{words.terminal.proof}</p>
          <div>
            <Button look="primary" onPress={() => setAsked(true)}>
              {words.continue}
            </Button>
          </div>
        </div>
      )}
      {isAsked && (
        <Reauth
          onEnd={(isGiven) => {
            setAsked(false);
            if (!isGiven) return;
            setRefused(false);
            setProvenAt(now());
          }}
        />
      )}
    </Page>
  );
}
