/** A sentence that must hold in the database whatever failed, once no request is under way. */
export interface Invariant {
  readonly says: string;
  /** One query, which answers rows that break it. */
  readonly sql: string;
}
