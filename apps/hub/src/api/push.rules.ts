/** Whether this device is told, may be told, must install the hub first, was forbidden to, or cannot be told at all. */
export type PushState = 'on' | 'off' | 'install' | 'denied' | 'impossible';

/** What decides how this device is told. */
interface PushFacts {
  userAgent: string;
  touchPoints: number;
  isStandalone: boolean;
  hasPush: boolean;
  permission: 'default' | 'denied' | 'granted' | undefined;
}

/** What can be offered, before the subscription is looked at. iOS tells only installed apps (16.4 and later). */
export function offerOf({ userAgent, touchPoints, isStandalone, hasPush, permission }: PushFacts): PushState {
  const isIos = /iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && touchPoints > 1);
  if (isIos && !isStandalone) return 'install';
  if (!hasPush || permission === undefined) return 'impossible';
  return permission === 'denied' ? 'denied' : 'off';
}
