import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { Answered } from '../../ui/State.tsx';
import { useLocale, useWords } from '../../words/words.tsx';

/** What the account uses of its limits, the fullest first. */
export function Limits() {
  const words = useWords();
  const { locale } = useLocale();
  const answer = useAnswer(['usage'], async () => (await api.usage.get()).quotas);
  return (
    <Answered answer={answer}>
      {(quotas) => (
        <table class="table">
          <caption class="unseen">{words.usage.views.limits}</caption>
          <thead>
            <tr>
              <th scope="col">{words.me.limit}</th>
              <th scope="col">{words.me.used}</th>
            </tr>
          </thead>
          <tbody>
            {quotas
              .toSorted((one, other) => other.used / (other.limit || 1) - one.used / (one.limit || 1))
              .map(({ name, used, limit }) => (
                <tr key={name}>
                  <th scope="row">{name.replaceAll('_', ' ')}</th>
                  <td>
                    {used.toLocaleString(locale)} / {limit.toLocaleString(locale)}
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
    </Answered>
  );
}
