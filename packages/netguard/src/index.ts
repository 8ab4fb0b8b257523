/** The rules of which addresses on a network a stranger's request may reach (design: tools, Fetch). */
export { canonicalAddress, isPublicAddress } from './address.ts';
export { OutboundError, type OutboundFailure, type OutboundStage, refused } from './error.ts';
export { addressesOf, type Resolve, resolveHere, resolvePublic, resolvePublicAt, type Timer } from './resolve.ts';
export { checkUrl, isAllowed, isBlockedName, type OutboundRules, type Target } from './url.ts';
