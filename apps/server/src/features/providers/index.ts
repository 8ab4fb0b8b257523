export type { Choice, Lane, LaneModel } from './providers.file.ts';
export { entryOf, parseRegistry } from './providers.file.ts';
export { readAws } from './providers.dialect.ts';
export { writeWhole } from './providers.files.ts';
export { findLanesOff, Lanes, readRegistry } from './providers.lanes.ts';
export { describePrices, updatePrices } from './providers.prices.commands.ts';
export { LaneKey } from './providers.secrets.ts';
export { costOf, type Most, mostCostOf, PriceList } from './providers.prices.ts';
