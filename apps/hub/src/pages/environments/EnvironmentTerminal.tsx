import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { TerminalPage } from '../../ui/TerminalPage.tsx';
import { useWords } from '../../words/words.tsx';

/** A terminal of an environment's machine, for developers and above. */
export function EnvironmentTerminal({ id }: { id: string }) {
  const words = useWords();
  const { data } = useAnswer(['environments', id], async () => api.environments.get({ params: { id } }));
  const name = data?.environment.name ?? words.environments.title;
  const back = { to: `/environments/${id}`, label: name };
  return <TerminalPage query={{ environment: id }} name={name} back={back} needsProof />;
}
