import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failed, Loading } from './State.tsx';

/** A page that is loaded when it is first shown. A part that is gone is of a build before: the page is read anew once. */
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
    return error === undefined ? <Loading /> : <Failed error={error} again={begin} />;
  };
}
