type Request = { path: string; body: string; headers: Record<string, string>; operator?: string };

/** What a provider sends, or an operator imports, until it is acknowledged: late, twice, and in any order. */
export type ProviderEvent = {
  label: string;
  request: () => Request;
  isAcknowledged: boolean;
  import?: Import;
  /** It never arrives: the service has to ask for it. */
  isLost: boolean;
};

/** An import of accounts or purchases. A repetition changes nothing. */
export type Import = {
  audit: "accounts_imported" | "billing_imported";
  /** The number of the account that it imports. */
  imported?: number;
  running: number;
  /** Whether what has changed has its event in the audit trail. */
  isAudited: boolean;
  /** Whether all of it may be known already, by later events. */
  mayBeKnown?: () => boolean;
  onDone: (results: readonly { status: string; accountId: string | null }[]) => void;
};

/** A grant with an Idempotency-Key, and its event in the audit trail. */
export type UnansweredGrant = {
  sent: { json: { days: number }; headers: Record<string, string> };
  audit: { done: () => void; refused: () => void };
};

/** A purchase as an account's list shows it. */
export type ListedPurchase = {
  originalTransactionId: string;
  isActive: boolean;
  willRenew: boolean;
  isFamilyShare: boolean;
  store: string | null;
  entitlements: unknown[];
};
