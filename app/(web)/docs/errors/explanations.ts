import type { ErrorCode } from "@/lib/errors";

/** What each code means to whoever gets it, and what to do. Names stand between backticks. */
export const EXPLANATIONS: Record<ErrorCode, string> = {
  malformed_request:
    "The request target, the `Host` header or the framing of the message is not valid (RFC 9112). Clients that resolve URLs before they send them never get this.",
  request_timeout: "Send the whole request within 30 seconds, its headers within 10.",
  headers_too_large: "Request line and headers may have 16 KiB together.",
  malformed_json: "Send a body that is JSON in UTF-8 (RFC 8259). An empty body is none.",
  invalid_query:
    "`errors` names each parameter; `missing` and `allowed` say what belongs there. Give each parameter once.",
  invalid_or_expired_token: "The mailed token was used, replaced by a newer one, or is too old. Ask for another.",
  unauthenticated:
    "Send `Authorization: Bearer` with a live session's token, or the session cookie. A session ends by signing out, by a password reset and by its age: sign in again.",
  invalid_credentials: "One answer for an unknown address and a wrong password. Let the person try again.",
  webhook_unauthorized:
    "The `Authorization` value or the signature is not what is configured, or its time is more than five minutes off. Nothing was stored.",
  origin_not_allowed:
    "What changes something on a session cookie has to come from this service's own pages, or from an origin in `AUTH_TRUSTED_ORIGINS`. Native clients send a bearer token.",
  reauthentication_required:
    "Send the account's password, or, where it has none, sign in again within the last ten minutes.",
  email_not_verified: "The password was right. Open the link in the mail that was sent to the address, then sign in.",
  identity_unverified:
    "Somebody has an account with this address, and the provider does not say that it belongs to whoever signed in there. Sign in to that account the way it was made; the provider can be added there.",
  identity_in_use: "Sign out first, then sign in with this provider.",
  last_sign_in_method: "Set a password, or link another provider, before this one is removed.",
  identity_without_email: "Confirm the address at the provider, or register with an address and a password.",
  not_found: "There is no such address or thing, or it is not yours to see.",
  release_not_found: "The selection is valid, but nothing has been released for it.",
  device_not_found: "There is no such device among yours. Removing it has nothing left to do.",
  method_not_allowed: "`Allow` lists the methods that this address takes.",
  email_taken: "Sign in instead, or reset the password.",
  challenge_expired: "More than 15 minutes went by. Register the device again to get a new challenge.",
  challenge_used: "Each challenge is good once. Register the device again to get a new one.",
  device_limit_reached: "Remove a device first.",
  endpoint_retired: "The `Link` header names the successor.",
  precondition_failed: "The file is not the one that `If-Match` or `If-Unmodified-Since` names. Begin anew.",
  payload_too_large: "Send at most as many bytes as `limitBytes` says.",
  unsupported_media_type: "Send `Content-Type: application/json`.",
  range_not_satisfiable: "The range begins behind the end; `Content-Range` has the file's size. Begin anew.",
  validation_failed: "`errors` points to each field (JSON Pointer, RFC 6901) and says what is wrong with it.",
  evidence_invalid: "`reason` says which check of the device's evidence failed. Do not repeat the same evidence.",
  rate_limited: "Wait for the seconds in `Retry-After`. `RateLimit` and `RateLimit-Policy` tell which limit it was.",
  internal_error: "The log has the reason under the `requestId`. Trying again may or may not help.",
  unavailable: "The database is out of reach. Try again after `Retry-After`.",
  storage_full: "The database's disk is full. What only reads still works. Try again after `Retry-After`.",
  overloaded: "More sign-ins or pages at once than the service can work on. Try again after `Retry-After`.",
  catalog_unavailable: "The release catalog has never been readable. Try again after `Retry-After`.",
  artifact_unavailable:
    "The release is there, but its file is missing, cannot be read, or is not what was published. The log says which. Try again after `Retry-After`.",
  webhook_not_configured:
    "Set `BILLING_WEBHOOK_AUTHORIZATION` or `BILLING_WEBHOOK_SIGNING_SECRET`. The provider delivers again.",
  push_not_configured: "This service has no connection to APNs. Do without notifications.",
};
