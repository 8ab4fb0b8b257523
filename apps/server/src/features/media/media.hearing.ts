/** How a track is heard: one channel, or these added at full strength, or without either the mean of all. */
export interface TrackHearing {
  n: number;
  channel?: number;
  added?: readonly number[];
}

/**
 * How one file of a recording is heard: which tracks at once, and one channel of a track where their sum would lose
 * sound.
 */
export interface PieceHearing {
  /** Its decoded length; 0 for one that cannot be read. */
  ms: number;
  tracks: readonly TrackHearing[];
  /** No place in it can be sought: its times jump. */
  isJumpy?: true;
}

/** How a recording is heard, a line for each of its files. */
export type Hearing = readonly PieceHearing[];

/** What of a recording is not heard: a track of sound beside the others, or a part of what was recorded. */
export type MediaLack = 'tracks' | 'sound';

/** How loud a track is, in decibels of full scale, every two seconds: the sum as it is heard, and each channel. */
export interface Levels {
  sum: readonly number[];
  channels: readonly (readonly number[])[];
  /** The channels that the sum adds; empty: it is the mean of all. */
  added: readonly number[];
}

/** Louder than this is sound. */
const audible = -55;
/** So far below the loudest channel a voice is as good as lost. */
const lost = 10;
/** So little of what sounds is no loss: a share of it, and at most half a minute. */
const little = { share: 0.02, frames: 15 };

/**
 * The channel that is heard where the sum loses sound that this one has: a stereo recording whose channels cancel. It
 * has to have all but a little itself: with a microphone for each person nobody is dropped. `added`: the channels of
 * the sum that is heard; one for low effects is among them where it has a voice. `isPart`: whatever is heard, more
 * than a little is lost.
 */
export function channelOf({ sum, channels, added }: Levels): {
  channel?: number;
  added?: readonly number[];
  isPart: boolean;
} {
  const loudestOf = (those: Levels['channels']): number[] =>
    sum.map((_, at) => Math.max(...those.map((levels) => levels[at] ?? -Infinity)));
  const loudest = loudestOf(channels);
  const most = Math.min(little.frames, little.share * loudest.filter((level) => level > audible).length);
  const missing = (levels: readonly number[], of = loudest): number =>
    of.filter((level, at) => level > audible && (levels[at] ?? -Infinity) < level - lost).length;
  const ofSum = missing(sum);
  const [own, channel] = channels.reduce<[number, number | undefined]>(
    (best, levels, n) => (missing(levels) < best[0] ? [missing(levels), n] : best),
    [ofSum, undefined],
  );
  if (channel !== undefined && own <= most) return { channel, isPart: false };
  if (added.length === 0) return { isPart: ofSum > most };
  const ofAdded = missing(sum, loudestOf(channels.filter((_, n) => added.includes(n))));
  const isAll = ofSum - ofAdded > most;
  return { added: isAll ? channels.map((_, n) => n) : added, isPart: ofAdded > most };
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
  /** It can be read. */
  isKnown: boolean;
  /** Its coding is not read, or it has no head: beside a track of its language that is heard, the same once more. */
  isRepeat: boolean;
  sounds: boolean;
}

/**
 * Which tracks are heard at once: all that sound. Of several languages one, that of the default track; no comment
 * beside what it comments on. `isPart`: a track that may sound is left out. A phone writes its spatial sound, and a
 * film its lossless one, beside the same in a common coding: that is no part left out.
 */
export function tracksHeard(choices: readonly TrackChoice[]): { tracks: number[]; isPart: boolean } {
  const known = choices.filter(({ isKnown }) => isKnown);
  const sounding = known.filter((one) => one.sounds);
  const plain = sounding.filter(({ isAside }) => !isAside);
  const those = plain.length > 0 ? plain : sounding;
  const main = those.find(({ isDefault }) => isDefault) ?? those[0];
  const languages = new Set(those.map(({ language }) => language).filter((language) => language !== ''));
  const heard = languages.size > 1 ? those.filter(({ language }) => language === main?.language) : those;
  const isRepeat = (one: TrackChoice): boolean =>
    one.isRepeat && heard.some(({ language }) => language === one.language);
  const isPart = choices.some((one) => (one.isKnown ? one.sounds : !isRepeat(one)) && !heard.includes(one));
  const silent = known.find(({ isDefault }) => isDefault) ?? known[0];
  const tracks = heard.length > 0 ? heard : [silent].filter((one) => one !== undefined);
  return { tracks: tracks.map(({ n }) => n), isPart };
}
