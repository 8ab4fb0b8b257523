import { type QueryClient, QueryClientProvider } from '@tanstack/preact-query';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Route, Router, Switch } from 'wouter-preact';
import { failureOf, hubPath, isUnreached, signedOutCode, signIn, whenSignedOut } from './api/client.ts';
import { isRecordId } from './api/ids.ts';
import { type Connection, ConnectionProvider } from './api/connection.ts';
import { Live, tellEnded } from './api/live.ts';
import { useMe } from './api/me.ts';
import { closeNotes } from './api/push.ts';
import { applyChange, readSoon, useAnswer } from './api/queries.ts';
import type { Store } from './api/store.ts';
import { readOverview } from './pages/now/overview.ts';
import { Now } from './pages/now/Now.tsx';
import { pages } from './routes.ts';
import { dropUploads } from './uploads.store.ts';
import { Shell } from './shell/Shell.tsx';
import { type Acts, ActsProvider, useActs } from './ui/acts.tsx';
import { Button, ButtonLink } from './ui/Button.tsx';
import { lazy } from './ui/lazy.tsx';
import { Page } from './ui/Page.tsx';
import { Failed } from './ui/State.tsx';
import { keepLocale, type Locale, loadWords, useWords, type Words, WordsProvider } from './words/words.tsx';

const routes = pages.map(({ path, load }) => ({ path, Page: lazy(load) }));

/** The whole hub. */
export function App({
  client,
  store,
  first,
}: {
  client: QueryClient;
  store: Store;
  first: { locale: Locale; words: Words };
}) {
  return (
    <QueryClientProvider client={client}>
      <Language first={first}>
        <Online client={client} store={store} />
      </Language>
    </QueryClientProvider>
  );
}

/** The person's language once it is known, and their zone. */
function Language({
  first,
  children,
}: {
  first: { locale: Locale; words: Words };
  children: preact.ComponentChildren;
}) {
  const [spoken, setSpoken] = useState(first);
  const { data: me } = useMe();
  const chosen = me?.account.locale;
  const wanted = chosen ?? first.locale;
  const isKnown = me !== undefined;
  useEffect(() => {
    if (isKnown) keepLocale(chosen);
  }, [isKnown, chosen]);
  useEffect(() => {
    document.documentElement.lang = spoken.locale;
    if (wanted === spoken.locale) return;
    void loadWords(wanted).then((words) => setSpoken({ locale: wanted, words }));
  }, [wanted, spoken]);
  const value = useMemo(() => ({ ...spoken, tz: me?.account.tz }), [spoken, me?.account.tz]);
  return <WordsProvider value={value}>{children}</WordsProvider>;
}

/** The live connection of this tab, and the pages. */
function Online({ client, store }: { client: QueryClient; store: Store }) {
  const isSignedIn = useMe().data !== undefined;
  const [connection, setConnection] = useState<Connection>({
    isLive: true,
    isOnline: navigator.onLine,
    at: undefined,
  });
  useEffect(() => {
    const tell = (): void => setConnection((before) => ({ ...before, isOnline: navigator.onLine }));
    addEventListener('online', tell);
    addEventListener('offline', tell);
    return () => {
      removeEventListener('online', tell);
      removeEventListener('offline', tell);
    };
  }, []);
  const [isOut, setOut] = useState(false);
  const wasIn = useRef(false);
  wasIn.current ||= isSignedIn;
  useEffect(() => whenSignedOut(() => setOut(true)), []);
  useEffect(() => {
    if (!isSignedIn || isOut) return undefined;
    const live = new Live(store, {
      onChange(change) {
        applyChange(client, change);
        readSoon(client, ['overview']);
        const { topic, id, record } = change;
        if (topic === 'notifications' && record && 'resolved_at' in record && record.resolved_at !== undefined)
          void closeNotes(id);
      },
      onMissed: () => void client.invalidateQueries(),
      onState: (isLive, at) => setConnection((before) => ({ ...before, isLive, at })),
      onSignedOut: () => location.assign(`${hubPath}/`),
      onEnded: () => setOut(true),
    });
    return () => live.close();
  }, [client, store, isSignedIn, isOut]);
  // After the effect above: the stream of this tab is closed by then, and does not hear of it.
  useEffect(() => {
    if (isOut) void forgetPerson(client, store);
  }, [client, store, isOut]);
  return (
    <ConnectionProvider value={connection}>
      <ActsProvider>{isOut && wasIn.current ? <SignedOut /> : <Pages store={store} isOut={isOut} />}</ActsProvider>
    </ConnectionProvider>
  );
}

function Pages({ store, isOut }: { store: Store; isOut: boolean }) {
  const me = useMe();
  const acts = useActs();
  const { data: overview } = useAnswer(['overview'], readOverview, { enabled: me.data !== undefined });
  useEffect(() => {
    if (me.data) acts.resume();
  }, [me.data?.account.id]);
  // Nobody has been seen to be signed in here.
  useEffect(() => {
    if (isOut) void goToSignIn(acts);
  }, [isOut]);
  const { code } = failureOf(me.error) ?? {};
  const isSuspended = code === 'account_suspended';
  useEffect(() => {
    if (isSuspended) void store.hide();
  }, [isSuspended, store]);
  // Whatever was kept: a suspended person sees nothing else.
  if (isSuspended) return <Suspended />;
  if (me.data === undefined && code !== signedOutCode) {
    if (me.error !== undefined) return <FirstFailure error={me.error} again={me.again} />;
  }
  return (
    <Router base={hubPath}>
      <Shell me={me.data} unread={overview?.counts.notifications?.unread ?? 0}>
        <Switch>
          <Route path="/">
            <Now />
          </Route>
          {routes.map(({ path, Page: Shown }) => (
            <Route path={path} key={path}>
              {({ id = '' }: { id?: string }) =>
                id === '' || isRecordId(id) ? <Shown id={id} key={id} /> : <NotFound />
              }
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Shell>
    </Router>
  );
}

/** A browser that was signed out while it was open: nothing of the person stays to be seen. */
function SignedOut() {
  const words = useWords();
  const acts = useActs();
  return (
    <main class="alone">
      <Page title={words.states.signedOut}>
        <p>{words.states.signedOutText}</p>
        <Button look="primary" onPress={() => goToSignIn(acts)}>
          {words.signIn}
        </Button>
      </Page>
    </main>
  );
}

const goToSignIn = (acts: Acts): Promise<void> =>
  signIn().catch((error: unknown) => acts.say(String(error), { isProblem: true }));

/** Forgets what this device has of a person whose sign-in ended, but for half-filled forms, which no page shows others. */
async function forgetPerson(client: QueryClient, store: Store): Promise<void> {
  tellEnded();
  client.clear();
  await Promise.all([store.end(), dropUploads(), closeNotes()].map((work) => work.catch(() => {})));
}

function Suspended() {
  const words = useWords();
  return (
    <main class="alone">
      <Page title={words.states.suspended}>
        <p>{words.states.suspendedText}</p>
      </Page>
    </main>
  );
}

const FirstFailure = ({ error, again }: { error: unknown; again: () => void }) => {
  const words = useWords();
  return (
    <main class="alone">
      <Page title={isUnreached(error) ? words.errors.unreached : words.brand}>
        <Failed error={error} again={again} />
      </Page>
    </main>
  );
};

function NotFound() {
  const words = useWords();
  return (
    <Page title={words.states.notFoundTitle} lead={words.states.notFound}>
      <ButtonLink to="/" look="primary">
        {words.states.toNow}
      </ButtonLink>
    </Page>
  );
}
