import { QueryClient, QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import '../../style/tokens.css';
import '../../style/base.css';
import '../../style/work.css';
import { isRecordId } from '../../api/ids.ts';
import { ActsProvider } from '../../ui/acts.tsx';
import { showHiddenMarks } from '../../ui/marks.ts';
import { Empty } from '../../ui/State.tsx';
import { applyTheme, themeHere } from '../../ui/theme.ts';
import { loadWords, WordsProvider } from '../../words/words.tsx';
import { Cells } from './Cells.tsx';

/*
 * Cells of a sandbox's Python kernel, a document of its own: the editor needs inline styles, and what cells print stays away from the
 * hub's pages (design: hub, Login and security). It tells the page around it how high it is.
 */

showHiddenMarks();
applyTheme(themeHere());
const query = new URLSearchParams(location.search);
const id = query.get('sandbox') ?? '';
const locale = query.get('locale') === 'ro' ? 'ro' : 'en';
document.documentElement.lang = locale;
const words = await loadWords(locale);
const root = document.createElement('main');
root.className = 'framed';
document.body.append(root);
render(
  <QueryClientProvider client={new QueryClient()}>
    <WordsProvider value={{ words, locale, tz: undefined }}>
      <ActsProvider>{isRecordId(id) ? <Cells id={id} /> : <Empty>{words.states.notFound}</Empty>}</ActsProvider>
    </WordsProvider>
  </QueryClientProvider>,
  root,
);
new ResizeObserver(() => parent.postMessage({ height: root.offsetHeight }, location.origin)).observe(root);
