/** Every error that a client can receive: its stable code, HTTP status and title (RFC 9457, section 3.1). */
export const ERRORS = {
  malformed_request: [400, "The request is not valid HTTP"],
  too_many_parameters: [400, "The query has too many parameters"],
  malformed_json: [400, "The body is not valid JSON"],
  invalid_query: [400, "The query is invalid"],
  invalid_client: [400, "The client is not registered"],
  unauthorized_client: [400, "The client may not use this grant"],
  invalid_redirect_uri: [400, "The redirect URI is not registered"],
  invalid_grant: [400, "The code is invalid, used or expired"],
  invalid_id_token: [400, "The ID token is not valid for this service"],
  unsupported_grant_type: [400, "The grant type is not supported"],
  authorization_pending: [400, "The user has not decided yet"],
  slow_down: [400, "The client polls too often"],
  access_denied: [400, "The user has refused the request"],
  expired_token: [400, "The device code has expired"],
  invalid_or_expired_token: [400, "The token is invalid or has expired"],
  key_in_url: [400, "An API key must not be in a URL"],
  invalid_idempotency_key: [400, "The Idempotency-Key is not valid"],
  unauthenticated: [401, "Sign in to continue"],
  invalid_credentials: [401, "The email or password is incorrect"],
  second_factor_required: [401, "A second factor is required"],
  invalid_challenge: [401, "The sign-in has expired or is already complete"],
  invalid_code: [401, "The code is wrong, used or expired"],
  webhook_unauthorized: [401, "The webhook delivery could not be authenticated"],
  origin_not_allowed: [403, "This origin is not allowed"],
  reauthentication_required: [403, "Sign in again to continue"],
  email_not_verified: [403, "The email is not verified"],
  account_disabled: [403, "The account is disabled"],
  forbidden: [403, "You are not allowed to do this"],
  grant_too_long: [403, "Your role may not grant an entitlement for so long"],
  identity_unverified: [
    403,
    "An account with this email already exists, and the provider cannot confirm that it is yours",
  ],
  not_found: [404, "Not found"],
  release_not_found: [404, "Release not found"],
  rollout_not_found: [404, "Rollout not found"],
  device_not_found: [404, "Device not found"],
  upload_not_found: [404, "Upload not found"],
  method_not_allowed: [405, "Method not allowed"],
  request_timeout: [408, "The request did not arrive in time"],
  email_taken: [409, "An account with this email already exists"],
  account_changed: [409, "You have signed in with another account meanwhile"],
  identity_in_use: [409, "This identity is linked to another account"],
  admin_exists: [409, "There is an admin already"],
  last_admin: [409, "This is the only admin"],
  last_sign_in_method: [409, "This is the account's only way to sign in"],
  sign_in_method_exists: [409, "The account has a password or a passkey"],
  factor_exists: [409, "The account already has an authenticator app"],
  no_second_factor: [409, "The account has no second factor"],
  enrollment_expired: [409, "The enrollment has expired"],
  passkey_registered: [409, "This passkey has already been added"],
  passkey_limit_reached: [409, "Too many passkeys"],
  challenge_expired: [409, "The challenge has expired"],
  challenge_used: [409, "The challenge has been used"],
  device_limit_reached: [409, "Too many devices"],
  device_not_active: [409, "The device is not active"],
  no_active_device: [409, "No device receives the notification"],
  no_live_activity: [409, "No device has the Live Activity"],
  notifications_turned_off: [409, "The recipient has turned off notifications of this kind"],
  announcement_in_progress: [409, "The version is already being announced"],
  upload_offset_mismatch: [409, "The offset does not match the bytes that have arrived"],
  upload_incomplete: [409, "The upload is not complete"],
  upload_limit_reached: [409, "Too many unfinished uploads"],
  release_conflict: [409, "The version is already published with different files"],
  release_yanked: [409, "The release has been yanked"],
  release_pending: [409, "The release waits for approval"],
  release_in_use: [409, "Clients may be downloading the release"],
  rollout_conflict: [409, "The rollout is in another state"],
  confirmation_required: [409, "This looks like a mistake and must be confirmed"],
  file_changed: [409, "A file changed while it was being published"],
  catalog_not_editable: [409, "The release catalog is at a URL and cannot be edited"],
  catalog_invalid: [409, "The release catalog is not valid"],
  catalog_locked: [409, "The release catalog is being changed"],
  request_in_progress: [409, "The same request is being processed"],
  idempotency_key_used: [409, "The request has already succeeded"],
  assignment_conflict: [409, "The purchases cannot be assigned to the account"],
  test_event_unavailable: [409, "No test event of this provider can be sent"],
  billing_api_not_configured: [409, "The billing provider's API is not configured"],
  billing_api_failed: [409, "The billing provider's API does not respond as documented"],
  retention_not_configured: [409, "No retention period for payloads is configured"],
  move_in_progress: [409, "The database is being moved elsewhere"],
  backup_in_progress: [409, "The database is already being backed up"],
  backup_not_configured: [409, "No location for backups is configured"],
  mirror_not_configured: [409, "No mirror of releases is configured"],
  webhook_limit_reached: [409, "Too many webhook endpoints"],
  webhook_disabled: [409, "The webhook endpoint is disabled"],
  endpoint_retired: [410, "This endpoint has been retired"],
  precondition_failed: [412, "It has changed meanwhile"],
  tus_version_unsupported: [412, "This version of the tus protocol is not supported"],
  payload_too_large: [413, "The request body is too large"],
  unsupported_media_type: [415, "Unsupported media type"],
  range_not_satisfiable: [416, "The range is outside the file"],
  validation_failed: [422, "Some fields are invalid"],
  idempotency_key_reused: [422, "The Idempotency-Key belongs to another request"],
  entitlement_unknown: [422, "The entitlement is unknown"],
  invalid_user_code: [422, "The code is unknown, used or expired"],
  identity_without_email: [422, "The provider did not return an email address"],
  passkey_invalid: [422, "The passkey could not be verified"],
  evidence_invalid: [422, "The evidence is invalid"],
  release_invalid: [422, "The release is not valid"],
  rollout_invalid: [422, "The rollout is not possible"],
  signature_invalid: [422, "A signature does not match its file"],
  policy_unmet: [422, "The release does not have what its product's policy requires"],
  attestation_invalid: [422, "An attestation is not of its file, or not by a publisher of the product"],
  upload_locked: [423, "The upload is in use"],
  rate_limited: [429, "Too many requests"],
  headers_too_large: [431, "The request headers are too large"],
  internal_error: [500, "Something went wrong on our side"],
  backup_failed: [500, "The backup failed"],
  unavailable: [503, "The service is temporarily unavailable"],
  storage_full: [503, "The disk is full"],
  overloaded: [503, "The service is busy"],
  catalog_unavailable: [503, "The release catalog is unavailable"],
  mirror_unavailable: [503, "The mirror of releases cannot be read"],
  artifact_unavailable: [503, "The release's file is unavailable"],
  webhook_not_configured: [503, "The webhook is not configured"],
  provider_unavailable: [503, "The sign-in provider does not respond"],
  push_not_configured: [503, "Push is not configured"],
  disk_full: [507, "There is no space for the file"],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type ErrorCode = keyof typeof ERRORS;

/** One invalid field. `pointer` is a JSON Pointer (RFC 6901) into the body, or `?name` for a query parameter. */
export type FieldError = { pointer: string; code: string; detail: string };

export type ErrorExtras = {
  /** For people. Never contains another account's data, a stack trace, a host name or SQL. */
  detail?: string;
  errors?: FieldError[];
  /** Further fields of the problem document, such as `reason` or `allowed`. */
  fields?: Record<string, unknown>;
  headers?: Record<string, string>;
  retryAfterSeconds?: number;
  cause?: unknown;
};

/** The error that services throw. lib/platform/http turns it into a problem document. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly extras: ErrorExtras;

  /** `extras`: a text is the detail. */
  constructor(code: ErrorCode, extras: ErrorExtras | string = {}) {
    const given = typeof extras === "string" ? { detail: extras } : extras;
    super(given.detail ?? ERRORS[code][1], { cause: given.cause });
    this.code = code;
    this.extras = given;
  }
}

/** An error that a command alone can cause, with a stable code, which `--json` prints: no client receives it. */
export class CommandError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The error for a limit of `points` uses in `seconds` (draft-ietf-httpapi-ratelimit-headers). */
export function rateLimited(limit: { name: string; points: number; seconds: number }, waitMs: number, detail?: string) {
  const waitSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new AppError("rate_limited", {
    detail,
    retryAfterSeconds: waitSeconds,
    headers: {
      "RateLimit-Policy": `"${limit.name}";q=${limit.points};w=${limit.seconds}`,
      RateLimit: `"${limit.name}";r=0;t=${waitSeconds}`,
    },
  });
}

/** Compares the name, because Next and the HTTP server load separate copies of this module and its class. */
export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && error.name === "AppError" && "code" in error;
}
