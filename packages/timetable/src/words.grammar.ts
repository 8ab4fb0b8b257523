import { inPeriod, isNumeric, Reader, type Time } from './words.clock.ts';
import type { Period, Token, Unit } from './words.lexicon.ts';
import { range } from './words.tokens.ts';

/** Meaning of a phrase; each part at most once. */
export interface Meaning {
  every?: { count: number; unit: Unit };
  weekdays?: readonly number[];
  /** The nth weekday of the month; 0 is the last. */
  nth?: { n: number; weekday: number };
  /** Days of the month; 0 is the last. */
  monthDays?: readonly number[];
  date?: { year: number | undefined; month: number; day: number };
  /** `at 15 minutes past every hour`. */
  minuteOfHour?: number;
  times?: readonly Time[];
  period?: Period;
  window?: { from: Time; to: Time };
  after?: { count: number; unit: Unit };
  dayOffset?: number;
  next?: true;
}

/** Reads a whole phrase; undefined when a token is left over, or says something a second time. */
export function parse(tokens: readonly Token[]): Meaning | undefined {
  const reader = new Phrases(tokens);
  while (!reader.done) {
    if (Object.keys(reader.meaning).length > 0) reader.comma();
    const clause = reader.clause();
    if (!clause) return undefined;
    for (const key of Object.keys(clause) as (keyof Meaning)[]) {
      if (key in reader.meaning) return undefined;
      Object.assign(reader.meaning, { [key]: clause[key] });
    }
  }
  return reader.meaning;
}

class Phrases extends Reader {
  readonly meaning: Meaning = {};

  /** A comma, or an `and`, between two clauses. */
  comma(): void {
    this.take('and', 'si');
  }

  /** The next clause, whichever reads the most at this place first. */
  clause(): Meaning | undefined {
    return (
      this.try(() => this.#window()) ??
      this.try(() => this.#minuteOfHour()) ??
      this.try(() => this.#every()) ??
      this.try(() => this.#after()) ??
      this.try(() => this.#date()) ??
      this.try(() => this.#ofMonth()) ??
      this.try(() => this.#weekdays()) ??
      this.try(() => this.#day()) ??
      this.try(() => this.#times()) ??
      this.try(() => this.#period())
    );
  }

  #every(): Meaning | undefined {
    const adverb = this.take('adverb');
    if (adverb) return { every: { count: 1, unit: adverb.unit } };
    if (this.take('outOf')) {
      const pair = this.#fromTo();
      return pair && { every: pair };
    }
    if (this.take('every')) return this.#everyWhat();
    // `la 5 minute` is `every 5 minutes` too.
    if (!this.take('at')) return undefined;
    const span = this.span(true);
    return span && { every: span };
  }

  #everyWhat(): Meaning | undefined {
    // Before the span: `second` is a unit too.
    const nth = this.try(() => this.#nth());
    if (nth) return { ...nth, every: { count: 1, unit: 'month' } };
    const span = this.try(() => this.span(false));
    if (span) {
      // `every second friday` is every other one, which no trigger can say.
      return this.peek()?.is === 'weekday' && span.unit === 'second' ? undefined : { every: span };
    }
    // `every friday`, `every 1st`, `every 24 december`: the clause that follows says when; a date comes every year.
    const date = this.try(() => this.#date());
    if (date?.date) return date.date.year === undefined ? { ...date, every: { count: 1, unit: 'year' } } : undefined;
    const inMonth = this.try(() => this.#ofMonth());
    if (inMonth) return { ...inMonth, every: { count: 1, unit: 'month' } };
    const weekdays = this.try(() => this.#weekdays());
    if (weekdays) return { ...weekdays, every: { count: 1, unit: 'week' } };
    const period = this.try(() => this.#period());
    return period && { ...period, every: { count: 1, unit: 'day' } };
  }

  /** `din 15 în 15 minute`. */
  #fromTo(): Meaning['every'] | undefined {
    const part = this.take('part');
    if (part) {
      const isSame = this.take('in') !== undefined && this.take('part')?.minutes === part.minutes;
      this.skip('of');
      return isSame && this.unit(true) === 'hour' ? { count: part.minutes, unit: 'minute' } : undefined;
    }
    const first = this.take('number');
    if (!first || !this.take('in')) return undefined;
    const span = this.span(true);
    return span?.count === first.value ? span : undefined;
  }

  /** `at 15 minutes past every hour`, `quarter past the hour`, `every hour at minute 15`, `la minutul 15 din fiecare oră`. */
  #minuteOfHour(): Meaning | undefined {
    this.skip('at', 'article');
    const isNamed = this.try(() => (this.unit(false) === 'minute' ? true : undefined));
    const part = isNamed ? this.take('number') : this.take('part', 'number');
    if (!part) return undefined;
    const minute = part.is === 'part' ? part.minutes : part.value;
    if (minute > 59) return undefined;
    this.try(() => (this.unit(true) === 'minute' ? true : undefined));
    const ofHour = this.try(() => {
      // `la jumătate de oră` is every half an hour.
      if (!(isNamed ? this.take('past', 'of', 'outOf', 'in') : this.take('past'))) return undefined;
      const adverb = this.take('adverb');
      if (adverb) return adverb.unit === 'hour' ? true : undefined;
      this.skip('article', 'every');
      return this.unit(false) === 'hour' ? true : undefined;
    });
    const { every } = this.meaning;
    if (ofHour) return { minuteOfHour: minute, ...(every === undefined && { every: { count: 1, unit: 'hour' } }) };
    return isNamed && every?.unit === 'hour' ? { minuteOfHour: minute } : undefined;
  }

  #after(): Meaning | undefined {
    if (!this.take('in')) return undefined;
    // `în zilele 1 și 15`, `în a doua sâmbătă` are no spans.
    const isNamed = this.peek()?.is === 'unit' && this.peek(1)?.is === 'number';
    if (isNamed || this.peek()?.is === 'ordinal') return undefined;
    const span = this.span(false);
    return span && { after: span };
  }

  #date(): Meaning | undefined {
    this.skip('on', 'article');
    const whole = this.take('date');
    if (whole) return { date: whole };
    const monthFirst = this.take('month');
    const day = this.take('number', 'ordinal')?.value;
    if (day === undefined || day > 31) return undefined;
    if (!monthFirst) this.skip('of');
    const month = monthFirst ?? this.take('month');
    if (!month) return undefined;
    // `Dec 24, 2026`.
    const next = this.peek()?.is === 'and' ? this.peek(1) : this.peek();
    const year = next?.is === 'number' && next.value >= 2000 && next.value < 2200 ? next.value : undefined;
    if (year !== undefined) this.skip('and', 'number');
    return { date: { year, month: month.month, day } };
  }

  /** `1st and 15th [of the month]`, `on 1 and 15`, `last day of the month`, `first monday of the month`. */
  #ofMonth(): Meaning | undefined {
    const isOn = this.take('on') !== undefined;
    this.skip('article', 'in', 'of');
    const nth = this.try(() => this.#nth());
    if (nth) return nth;
    if (this.take('last')) {
      const unit = this.unit(false);
      return unit === 'day' && this.#month() ? { monthDays: [0] } : undefined;
    }
    // `on days 1 and 15`.
    const isNamed = this.try(() => (this.unit(false) === 'day' && this.peek()?.is === 'number' ? true : undefined));
    const on = isOn || isNamed === true;
    const nthDay = this.try(() => {
      const day = this.take('ordinal')?.value;
      return day !== undefined && this.unit(false) === 'day' && this.#month() ? day : undefined;
    });
    if (nthDay !== undefined) return nthDay <= 31 ? { monthDays: [nthDay] } : undefined;
    const days: number[] = [];
    const isDay = (ahead: number): boolean =>
      this.peek(ahead)?.is === 'ordinal' || (on && this.peek(ahead)?.is === 'number');
    do {
      this.skip('article', 'on');
      const token = on ? this.take('ordinal', 'number') : this.take('ordinal');
      if (!token || token.value < 1 || token.value > 31) return undefined;
      days.push(token.value);
    } while (
      this.try(() => {
        if (!this.take('and', 'si')) return undefined;
        this.skip('and', 'si', 'article', 'on');
        return isDay(0) ? true : undefined;
      })
    );
    this.try(() => this.#month() || undefined);
    return { monthDays: days };
  }

  #nth(): Meaning | undefined {
    const last = this.take('last') !== undefined;
    const ordinal = last ? 0 : this.take('ordinal')?.value;
    const weekday = this.take('weekday');
    if (ordinal === undefined || ordinal > 5 || weekday?.days.length !== 1) return undefined;
    return this.#month() ? { nth: { n: ordinal, weekday: weekday.days[0] ?? 1 } } : undefined;
  }

  /** `of the month`, `din lună`, `a lunii`, `of every month`; it need not be said again after `every month` or `monthly`. */
  #month(): boolean {
    const isSaid = this.try(() => {
      this.skip('of', 'outOf', 'article', 'every', 'in');
      return this.unit(false) === 'month' ? true : undefined;
    });
    return isSaid ?? this.meaning.every?.unit === 'month';
  }

  #weekdays(): Meaning | undefined {
    this.skip('on', 'in', 'article');
    const isNext = this.take('next') !== undefined;
    const days = new Set<number>();
    do {
      this.skip('on', 'article');
      const isRange = this.take('from', 'of') !== undefined;
      const token = this.take('weekday');
      if (!token) return undefined;
      const to = this.try(() => {
        const joint = isRange ? this.take('to', 'until', 'at') : this.take('to', 'until');
        return joint && this.take('weekday');
      });
      for (const day of to ? range(token.days[0] ?? 1, to.days[0] ?? 1) : token.days) days.add(day);
    } while (this.try(() => this.#andWeekday()));
    const weekdays = [...days].sort((a, b) => a - b);
    if (!isNext && this.take('next') === undefined) return { weekdays };
    return weekdays.length === 1 ? { weekdays, next: true } : undefined;
  }

  #andWeekday(): true | undefined {
    // `tuesday thursday`: a list without its `and`.
    if (this.peek()?.is === 'weekday') return true;
    if (!this.take('and', 'si')) return undefined;
    while (this.take('and', 'si', 'on', 'article', 'from', 'of'));
    if (this.peek()?.is !== 'weekday') return undefined;
    return true;
  }

  #day(): Meaning | undefined {
    const day = this.take('day');
    if (!day) return undefined;
    return { dayOffset: day.offset, ...(day.period && { period: day.period }) };
  }

  #window(): Meaning | undefined {
    const between = this.take('between', 'from');
    if (!between) return undefined;
    const from = this.clock(false);
    const joint = this.take('and', 'si', 'to', 'until', 'at');
    const to = from && joint ? this.clock(false) : undefined;
    return from && to && { window: { from, to } };
  }

  #times(): Meaning | undefined {
    this.skip('at');
    const times: Time[] = [];
    do {
      this.skip('at');
      const time = this.clock();
      if (!time) return undefined;
      times.push(time);
    } while (this.try(() => this.#andTime()));
    return withSharedPeriod(times);
  }

  #andTime(): true | undefined {
    const joint = this.take('and', 'si');
    if (!joint) return undefined;
    const isSaid = this.take('at') !== undefined;
    while (this.take('and', 'si', 'at'));
    // `la 8 și 20` is 8:20 to some and two times to others.
    if (joint.is === 'si' && !isSaid && this.peek()?.is === 'number') return undefined;
    return isNumeric(this.peek()) || this.peek()?.is === 'clock' || this.peek()?.is === 'part' ? true : undefined;
  }

  #period(): Meaning | undefined {
    this.skip('in', 'on', 'article');
    const period = this.take('period');
    return period && { period: period.period };
  }
}

/** `at 8 and 9 pm`: what is said once, at the end, holds for all. */
function withSharedPeriod(times: readonly Time[]): Meaning | undefined {
  const period = times.at(-1)?.period;
  const all = times.map((time) => (time.period === undefined ? inPeriod(time, period) : time));
  return all.includes(undefined) ? undefined : { times: all as Time[] };
}
