/** The API of the subscription provider. */
export type BillingApi = {
  /** Returns a customer as JSON. @throws BillingApiError, within five seconds */
  getCustomer: (appUserId: string) => Promise<unknown>;
};

/** The provider did not respond, or with an error. `retryAfterSeconds` is its Retry-After, a day at most. */
export class BillingApiError extends Error {
  override readonly name = "BillingApiError";
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
