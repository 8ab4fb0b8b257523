import { Icon, type IconName } from './icons.tsx';

/** How a state looks: by word and shape, never by colour alone. */
export type Tone = 'good' | 'warn' | 'bad' | 'rest' | 'busy';
const shapes: Record<Tone, IconName> = { good: 'check', warn: 'clock', bad: 'down', rest: 'pause', busy: 'play' };

/** A state as a word with its shape. */
export const Status = ({ tone, children, icon }: { tone: Tone; children: string; icon?: IconName }) => (
  <span class={`status ${tone}`}>
    <Icon name={icon ?? shapes[tone]} />
    {children}
  </span>
);
