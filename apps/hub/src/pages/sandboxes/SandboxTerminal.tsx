import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { TerminalPage } from '../../ui/TerminalPage.tsx';
import { useWords } from '../../words/words.tsx';
import { nameOf } from './sandboxes.ts';

/** A terminal of a sandbox. */
export function SandboxTerminal({ id }: { id: string }) {
  const words = useWords();
  const { data } = useAnswer(['sandboxes', id], async () => api.sandboxes.get({ params: { id } }));
  const name = nameOf(data ?? { id }, words);
  return <TerminalPage query={{ sandbox: id }} name={name} back={{ to: `/sandboxes/${id}`, label: name }} />;
}
