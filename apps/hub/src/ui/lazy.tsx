import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';
import { Failed, Loading } from './State.tsx';

/** A page that is loaded when it is first shown. A part that cannot be had may be of a build that is gone: "Reload" brings the new one. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [, setReady] = useState(false);
    const [error, setError] = useState<unknown>();
    const begin = (): void => {
      setError(undefined);
      load().then(
        (component) => {
          loaded = component;
          setReady(true);
        },
        (problem: unknown) => setError(problem),
      );
    };
    useEffect(() => {
      if (!loaded) begin();
    }, []);
    if (loaded) return h(loaded as ComponentType<object>, props);
    return error === undefined ? <Loading /> : <Unloaded error={error} again={begin} />;
  };
}

function Unloaded({ error, again }: { error: unknown; again: () => void }) {
  const words = useWords();
  return (
    <div class="stack">
      <Failed error={error} again={again} />
      <div>
        <Button onPress={() => location.reload()}>{words.states.reload}</Button>
      </div>
    </div>
  );
}
