/** The workloads' names. Each group is one table of docs/performance.md. */
export const GROUPS = {
  updates: ["health", "version", "version-not-modified", "adoption", "selection", "download"],
  billing: ["webhook", "webhook-embedded", "subscription-status", "fold"],
  accounts: ["login", "register", "health-during-logins", "health-during-page-load", "account-enumeration", "import"],
  console: ["console"],
  push: ["push-register", "push-refresh", "push-delivery", "attestation"],
  start: ["start"],
  operations: ["operations", "bytes"],
  growth: ["growth"],
} as const satisfies Record<string, readonly string[]>;

export type WorkloadName = (typeof GROUPS)[keyof typeof GROUPS][number];

/** Every workload's name, in the order of the document. */
export const WORKLOAD_NAMES: readonly WorkloadName[] = Object.values(GROUPS).flat();

/** Those that run by default: all but the one that loads ten million rows. */
export const DEFAULT_NAMES = WORKLOAD_NAMES.filter((name) => name !== "growth");
