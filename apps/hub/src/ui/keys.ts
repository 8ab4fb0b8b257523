import { keepHere, keptHere } from '../api/device.ts';
const settingName = 'svc-single-keys';

/** Whether single keys act. They can be turned off: speech input types them by accident (WCAG 2.1.4). */
export const areSingleKeysOn = (): boolean => keptHere(settingName) !== 'off';

/** Turns single keys on or off on this device. */
export const keepSingleKeys = (areOn: boolean): void => keepHere(settingName, areOn ? 'on' : 'off');

/** Whether the focus is in something that is typed into. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
