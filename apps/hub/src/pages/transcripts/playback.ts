import { useEffect } from 'preact/hooks';

/** How far two tracks may drift apart before the second one is set right, in seconds. */
const mostDrift = 0.12;

/** The one player of a page: what its buttons, the words of the text and keys do with the sound. */
export class Playback {
  #audio: HTMLAudioElement | undefined;
  /** The second track, when both are heard; it does what the first one does. */
  #beside: HTMLAudioElement | undefined;
  /** What was asked for before the sound was there. */
  #wanted: { ms: number; isPlayed: boolean } | undefined;
  readonly #heard = new Set<() => void>();
  #speed = 1;
  /** The text scrolls along with what is heard; a reader who scrolls ends it. */
  isFollowing = false;
  /** How often a place was asked for: the text shows it even where it stands there already. */
  jumps = 0;

  /** Where the sound is, in milliseconds. */
  get ms(): number {
    return this.#wanted?.ms ?? (this.#audio?.currentTime ?? 0) * 1_000;
  }
  get isPlaying(): boolean {
    return this.#audio !== undefined && !this.#audio.paused;
  }
  get speed(): number {
    return this.#speed;
  }

  /** Takes the element that plays, and the one of a second track. */
  attach(audio: HTMLAudioElement | null, beside: HTMLAudioElement | null): void {
    this.#audio = audio ?? undefined;
    this.#beside = beside ?? undefined;
    // It may know how long the sound is already.
    if (audio !== null && audio.readyState > 0) this.loaded();
  }

  /** Its element knows how long the sound is, so it can be put to a place. */
  loaded(): void {
    if (!this.#audio) return;
    const wanted = this.#wanted;
    this.#wanted = undefined;
    this.setSpeed(this.#speed);
    if (wanted) this.#go(wanted.ms, wanted.isPlayed);
  }

  /** Another source is loaded: what is heard goes on there. */
  reload(): void {
    this.#wanted ??= { ms: this.ms, isPlayed: this.isPlaying };
  }

  /** Plays from a place, and the text goes there. */
  playFrom(ms: number): void {
    this.#jump();
    this.#go(ms, true);
  }

  /** Goes to a place without a sound, and so does the text. */
  show(ms: number): void {
    this.#jump();
    this.#go(ms, false);
  }

  /** The text goes to what is heard, and along with it from now on. */
  follow(): void {
    this.#jump();
    this.tell();
  }

  /** The text stays where it is. */
  unfollow(): void {
    if (!this.isFollowing) return;
    this.isFollowing = false;
    this.tell();
  }

  #jump(): void {
    this.isFollowing = true;
    this.jumps += 1;
  }

  /** Goes to a place and stays as it is: playing or not. */
  seek(ms: number): void {
    this.#go(Math.max(0, ms), this.#wanted?.isPlayed ?? this.isPlaying);
  }

  toggle(): void {
    if (this.isPlaying) this.#audio?.pause();
    else this.#go(this.ms, true);
  }

  setSpeed(speed: number): void {
    this.#speed = speed;
    for (const one of [this.#audio, this.#beside]) if (one) one.playbackRate = speed;
    this.tell();
  }

  /** Calls `hear` when it plays, pauses, or is somewhere else; answers how to stop. */
  listen(hear: () => void): () => void {
    this.#heard.add(hear);
    return () => this.#heard.delete(hear);
  }

  /** Something changed. */
  tell(): void {
    this.#follow();
    for (const hear of this.#heard) hear();
  }

  #go(ms: number, isPlayed: boolean): void {
    const audio = this.#audio;
    if (!audio || audio.readyState === 0) this.#wanted = { ms, isPlayed };
    else {
      // A recording that is over begins anew.
      const isOver = audio.ended && ms >= audio.duration * 1_000 - 50;
      if (isOver || Math.abs(audio.currentTime * 1_000 - ms) > 1) audio.currentTime = isOver ? 0 : ms / 1_000;
      // Refused where nobody pressed anything yet, as after a reload: the page stays at the place.
      if (isPlayed && audio.paused) void audio.play().catch(() => this.tell());
    }
    this.tell();
  }

  #follow(): void {
    const [audio, beside] = [this.#audio, this.#beside];
    if (!audio || !beside || beside.readyState === 0 || beside.seeking) return;
    if (Math.abs(beside.currentTime - audio.currentTime) > mostDrift) beside.currentTime = audio.currentTime;
    if (audio.paused && !beside.paused) beside.pause();
    if (!audio.paused && beside.paused && !beside.ended) void beside.play().catch(() => {});
  }
}

/** Calls `paint` at each frame while the sound plays, and once when it changes: what is shown and heard differ by one frame. */
export function useFrames(playback: Playback, paint: () => void): void {
  useEffect(() => {
    let frame = 0;
    const draw = (): void => {
      paint();
      frame = playback.isPlaying ? requestAnimationFrame(draw) : 0;
    };
    const wake = (): void => {
      cancelAnimationFrame(frame);
      draw();
    };
    wake();
    const leave = playback.listen(wake);
    return () => {
      leave();
      cancelAnimationFrame(frame);
    };
  }, [playback, paint]);
}
