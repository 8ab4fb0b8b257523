/** A while in which one channel is heard for what the rest of the track is heard by, milliseconds of its file. */
export interface ChannelTurn {
  fromMs: number;
  toMs: number;
  channel: number;
}

/**
 * How a track is heard: one channel, or these added at full strength, or without either the mean of all; in its
 * turns another channel. `lateMs`: so long after its file it begins, where ffmpeg would begin with it.
 */
export interface TrackHearing {
  n: number;
  lateMs?: number;
  channel?: number;
  added?: readonly number[];
  turns?: readonly ChannelTurn[];
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

/** How long it is between two measurements of loudness: shorter than a word. */
export const levelMs = 250;

/** How loud a track is, in decibels of full scale, each `levelMs`: the sum as it is heard, and each channel. */
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
const little = { share: 0.02, frames: 30_000 / levelMs };
/** Turns of a track: each costs the reading of a part a comparison per 25 ms. */
const mostTurns = 64;

/** How the channels of a track are heard. */
type ChannelsHeard = Omit<TrackHearing, 'n' | 'lateMs'>;

/**
 * How channels are heard. One alone where the sum loses half of what sounds, a stereo recording whose channels cancel:
 * it has to have all but a little itself, with a microphone for each person nobody is dropped. `added`: the channels
 * of the sum that is heard; one for low effects is among them where it has a voice. What is lost even so for a while
 * is heard in turns by the channel that has it. `isPart`: whatever is heard, more than a little is lost.
 */
export function channelOf(levels: Levels): ChannelsHeard & { isPart: boolean } {
  const { sum, channels, added } = levels;
  const loudest = loudestOf(levels, channels);
  const audibles = loudest.filter((level) => level > audible).length;
  const most = Math.min(little.frames, little.share * audibles);
  const ofSum = missing(sum, loudest);
  const [own, channel] = channels.reduce<[number, number | undefined]>(
    (best, list, n) => (missing(list, loudest) < best[0] ? [missing(list, loudest), n] : best),
    [ofSum, undefined],
  );
  if (channel !== undefined && own <= most && ofSum * 2 >= audibles) {
    const { turns, isPart } = turnsOf(channels, { base: channels[channel] ?? [], loudest, most });
    return { channel, ...turns, isPart };
  }
  const inSum = loudestOf(
    levels,
    channels.filter((_, n) => added.length === 0 || added.includes(n)),
  );
  const isAll = added.length > 0 && ofSum - missing(sum, inSum) > most;
  // Without those for low effects nobody speaks there: they take no turn.
  const { turns, isPart } = turnsOf(
    channels.map((list, n) => (added.length === 0 || added.includes(n) || isAll ? list : [])),
    { base: sum, loudest: inSum, most },
  );
  if (added.length === 0) return { ...turns, isPart };
  return { added: isAll ? channels.map((_, n) => n) : added, ...turns, isPart };
}

type List = readonly number[];

const loudestOf = ({ sum }: Levels, channels: readonly List[]): number[] =>
  sum.map((_, at) => Math.max(-Infinity, ...channels.map((list) => list[at] ?? -Infinity)));
const isLost = (list: List, of: List, at: number): boolean => {
  const level = of[at] ?? -Infinity;
  return level > audible && (list[at] ?? -Infinity) < level - lost;
};
const missing = (list: List, of: List, from = 0, to = of.length): number => {
  let count = 0;
  for (let at = from; at < to; at += 1) if (isLost(list, of, at)) count += 1;
  return count;
};

/** Turns for what `base` lacks of the loudest, and whether more than `most` is lacking with them. */
function turnsOf(
  channels: readonly List[],
  { base, loudest, most }: { base: List; loudest: List; most: number },
): { turns?: { turns: ChannelTurn[] }; isPart: boolean } {
  const lostAt = loudest.flatMap((_, at) => (isLost(base, loudest, at) ? [at] : []));
  let left = lostAt.length;
  const turns: ChannelTurn[] = [];
  for (const [from, to] of asSpans(lostAt)) {
    const ofBase = missing(base, loudest, from, to);
    const [ofBest, channel] = channels.reduce<[number, number]>(
      (best, list, n) => {
        const count = missing(list, loudest, from, to);
        return count < best[0] ? [count, n] : best;
      },
      [ofBase, -1],
    );
    const list = channels[channel];
    if (list === undefined) continue;
    left += ofBest - ofBase;
    // It began and ended within the frames beside.
    const isLostBeside = (at: number): boolean => at < 0 || at >= loudest.length || isLost(list, loudest, at);
    const [begin, end] = [isLostBeside(from - 1) ? from : from - 1, isLostBeside(to) ? to : to + 1];
    turns.push({ fromMs: Math.max(begin * levelMs, turns.at(-1)?.toMs ?? 0), toMs: end * levelMs, channel });
  }
  return { ...(turns.length > 0 && { turns: { turns } }), isPart: left > most };
}

/** Frames as spans of frames that follow each other; so near ones are one that there are not too many. */
function asSpans(frames: readonly number[]): [from: number, to: number][] {
  for (let apart = 1; ; apart *= 2) {
    const spans: [number, number][] = [];
    for (const at of frames) {
      const last = spans.at(-1);
      if (last && at - last[1] <= apart) last[1] = at + 1;
      else spans.push([at, at + 1]);
    }
    if (spans.length <= mostTurns) return spans;
  }
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
