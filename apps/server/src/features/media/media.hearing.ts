/** How one file of a recording is heard: which tracks at once, and one channel of a track where their sum would lose sound. */
export interface PieceHearing {
  /** Its decoded length; 0 for one that cannot be read. */
  ms: number;
  tracks: readonly { n: number; channel?: number }[];
  /** No place in it can be sought: its times jump. */
  isJumpy?: true;
}

/** How a recording is heard, a line for each of its files. */
export type Hearing = readonly PieceHearing[];

/** What of a recording is not heard: a track of sound beside the others, or a part of what was recorded. */
export type MediaLack = 'tracks' | 'sound';

/** How loud a track is, in decibels of full scale, every two seconds: the sum of its channels, and each of them. */
export interface Levels {
  sum: readonly number[];
  channels: readonly (readonly number[])[];
}

/** Louder than this is sound. */
const audible = -55;
/** So far below the loudest channel a voice is as good as lost. */
const lost = 10;

/**
 * The channel that is heard where the sum of all loses sound that one of them has: a stereo recording whose channels cancel.
 * Undefined: their sum. `isPart`: whatever is heard, some of it is lost.
 */
export function channelOf({ sum, channels }: Levels): { channel?: number; isPart: boolean } {
  const loudest = sum.map((_, at) => Math.max(...channels.map((levels) => levels[at] ?? -Infinity)));
  const missing = (levels: readonly number[]): number =>
    loudest.filter((level, at) => level > audible && (levels[at] ?? -Infinity) < level - lost).length;
  let fewest = missing(sum);
  let channel: number | undefined;
  if (fewest > 0)
    for (const [n, levels] of channels.entries()) {
      const own = missing(levels);
      if (own < fewest) [fewest, channel] = [own, n];
    }
  return { ...(channel !== undefined && { channel }), isPart: fewest > 0 };
}

/** Whether there is a sound in a track. */
export const sounds = ({ sum, channels }: Levels): boolean =>
  [sum, ...channels].some((levels) => levels.some((level) => level > audible));

/** A track of sound as it may be chosen. */
export interface TrackChoice {
  n: number;
  /** As the file says; empty: unknown. */
  language: string;
  isDefault: boolean;
  /** Of somebody who comments on it or describes the pictures. */
  isAside: boolean;
  isKnown: boolean;
  sounds: boolean;
}

/**
 * Which tracks are heard at once: all that sound. Of several languages one, that of the default track; no comment beside what
 * it comments on. `isPart`: a track that may sound is left out.
 */
export function tracksHeard(choices: readonly TrackChoice[]): { tracks: number[]; isPart: boolean } {
  const known = choices.filter(({ isKnown }) => isKnown);
  const sounding = known.filter((one) => one.sounds);
  const plain = sounding.filter(({ isAside }) => !isAside);
  const those = plain.length > 0 ? plain : sounding;
  const main = those.find(({ isDefault }) => isDefault) ?? those[0];
  const languages = new Set(those.map(({ language }) => language).filter((language) => language !== ''));
  const heard = languages.size > 1 ? those.filter(({ language }) => language === main?.language) : those;
  const isPart = choices.some((one) => (!one.isKnown || one.sounds) && !heard.includes(one));
  const silent = known.find(({ isDefault }) => isDefault) ?? known[0];
  const tracks = heard.length > 0 ? heard : [silent].filter((one) => one !== undefined);
  return { tracks: tracks.map(({ n }) => n), isPart };
}
