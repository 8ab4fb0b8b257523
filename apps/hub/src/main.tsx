import { render } from 'preact';
import { createQueries, restore } from './api/queries.ts';
import { accountHere, Store } from './api/store.ts';
import { App } from './app.tsx';
import { showHiddenMarks } from './ui/marks.ts';
import { chooseTheme, themeHere } from './ui/theme.ts';
import { startWorker } from './worker.ts';
import { firstLocale, loadWords } from './words/words.tsx';
import './style/tokens.css';
import './style/base.css';
import './style/pages.css';
import './style/work.css';
import './style/transcripts.css';

showHiddenMarks();
chooseTheme(themeHere());
const store = new Store();
const client = createQueries(store);
const locale = firstLocale();
/** A database that another tab or a full disk holds up costs so long, and no page: what was kept comes later then. */
const patienceMs = 1_500;
const kept = store.openFor(accountHere()).then(() => restore(client, store));
const late = new Promise((resolve) => setTimeout(resolve, patienceMs));
const [words] = await Promise.all([loadWords(locale), Promise.race([kept, late])]);
const root = document.querySelector('#app');
if (root) render(<App client={client} store={store} first={{ locale, words }} />, root);
void startWorker();
