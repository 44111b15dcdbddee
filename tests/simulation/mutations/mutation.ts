/** A small fault, put into a copy of the service on purpose: the simulation has to find it. */
export type Mutation = {
  /** What is wrong then. */
  what: string;
  /** The text of the file, which is there once, and what replaces it. */
  file?: string;
  search?: string;
  replace?: string;
  /** What changes the migrated database. */
  sql?: string;
  /** It is found by two instances on PostgreSQL, not by one on the embedded database. */
  instances?: 2;
};
