import { render } from 'preact';
import { createQueries, restore } from './api/queries.ts';
import { accountHere, Store } from './api/store.ts';
import { App } from './app.tsx';
import { applyTheme, themeHere } from './ui/theme.ts';
import { startWorker } from './worker.ts';
import { firstLocale, loadWords } from './words/words.tsx';
import './style/tokens.css';
import './style/base.css';
import './style/pages.css';

applyTheme(themeHere());
const store = new Store();
const client = createQueries(store);
const locale = firstLocale();
const [words] = await Promise.all([loadWords(locale), store.openFor(accountHere()).then(() => restore(client, store))]);
const root = document.querySelector('#app');
if (root) render(<App client={client} store={store} first={{ locale, words }} />, root);
startWorker();
