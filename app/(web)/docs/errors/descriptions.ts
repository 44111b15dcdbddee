import type { ErrorCode } from "@/lib/errors";

/** What each error code means to the client, and how to handle it. Backticks mark code. */
export const ERROR_DESCRIPTIONS: Record<ErrorCode, string> = {
  too_many_parameters: "A query may have at most 50 parameters.",
  malformed_request:
    "The request line, the `Host` header or the message framing violates RFC 9112. HTTP clients that parse URLs before they send them never get this error.",
  request_timeout:
    "Send the headers within 10 seconds and the whole request within 30. An upload may take longer if no pause between its bytes exceeds 20 seconds.",
  headers_too_large: "The request line and headers may be at most 16 KiB in total.",
  malformed_json: "Send a JSON body in UTF-8 (RFC 8259). An empty body is not valid JSON.",
  invalid_query:
    "`errors` names each invalid parameter. `missing` lists required parameters, and `allowed` lists the accepted values. Send each parameter only once.",
  invalid_client: "`client_id` is not in `OAUTH_CLIENTS`.",
  unauthorized_client:
    "The client has redirect URIs, so it signs in through the browser. To let it sign in with a device code as well, set its `deviceGrant` to true in `OAUTH_CLIENTS`.",
  invalid_redirect_uri:
    "`redirect_uri` must be one of the client's `redirectUris`, character by character. A URI on 127.0.0.1 or [::1] that is registered without a port may have any port.",
  invalid_grant:
    "The code is unknown, expired or already used, or belongs to another client, or `redirect_uri` or `code_verifier` does not match. Start again. A code that is used twice also ends the session that it created.",
  invalid_id_token:
    "The ID token has expired, is older than ten minutes, was already used, or was issued to an app that is not configured, or its signature or nonce is not valid. `error_description` names the reason. Request a new one from the provider. Of a CI job, it names only an id: the target of the event `publisher_refused` in the audit trail, which has the claim that differs. Of a token without a valid signature, the log has it.",
  unsupported_grant_type:
    "`grant_type` is one of `grant_types_supported` in `/.well-known/oauth-authorization-server`.",
  authorization_pending: "Poll again after `interval` seconds.",
  slow_down: "Wait five seconds longer between two requests from now on (RFC 8628, section 3.5).",
  access_denied: "The user refused the request. Start again only when the user asks for it.",
  expired_token: "The user did not decide within `expires_in` seconds. Start again to get new codes.",
  invalid_user_code: "Check the code that the device shows. It works once, within ten minutes.",
  invalid_or_expired_token:
    "The emailed token was used or replaced by a newer one, or it has expired. Request a new one.",
  key_in_url:
    "The API key was in the URL, where proxies log it. It was revoked: create a new one, and send it as `Authorization: Bearer`.",
  invalid_idempotency_key: "Send 1 to 255 printable ASCII characters, such as a UUID.",
  unauthenticated:
    "Send `Authorization: Bearer` with the token of a live session, or the session cookie. A session ends when the user signs out or resets the password, and when it expires. Sign in again. An API key ends when it is revoked or expires.",
  invalid_credentials:
    "The error is the same for an unknown email and for a wrong password. Ask the user to try again.",
  second_factor_required:
    "The password is correct, or the provider has confirmed the user, but there is no session yet. Ask for one of `factors`, and send it with `challenge` to `POST /api/auth/login/factor` before `expiresAt`.",
  invalid_challenge:
    "A challenge works once, within ten minutes, unless the password is reset before that. Start the sign-in again.",
  invalid_code:
    "A code of an authenticator app works once, within a minute of the time at which the device shows it. A recovery code works once. If correct codes are refused, the device's clock is wrong: set it automatically. The challenge stays valid for another code.",
  sign_in_method_exists:
    "Only an account without a password and a passkey can be invited. Its owner can use “Forgot your password?”.",
  factor_exists: "Remove the authenticator app first, then add another one.",
  no_second_factor: "Add an authenticator app first. It comes with recovery codes.",
  enrollment_expired:
    "The session that starts an enrollment has to confirm it within ten minutes. Start again, and scan the new QR code.",
  webhook_unauthorized:
    "The `Authorization` value or the signature does not match the configuration, or the timestamp is more than five minutes off. Nothing was stored.",
  origin_not_allowed:
    "A request that changes data with a session cookie must come from this service's own pages or from an origin in `AUTH_TRUSTED_ORIGINS`. Native clients send a bearer token instead.",
  reauthentication_required:
    "This action requires a recent authentication. `errors` names the fields that are accepted as proof, such as the password: repeat the request with one of them, or send it to `POST /api/auth/reauthenticate` first. If `errors` is missing, sign in again.",
  email_not_verified: "The password is correct. Open the link in the email that was sent, then sign in.",
  account_disabled:
    "The sign-in was correct, but an operator has disabled the account. Its sessions have ended. Contact the operator.",
  forbidden:
    "The action is reserved for accounts with another role, or for API keys with another scope or from another network. Some actions are not open to API keys.",
  identity_unverified:
    "An account with this email exists, and the provider does not guarantee that the email belongs to the user who signed in. Sign in to that account with its usual method, then add the provider there.",
  account_changed:
    "Only of the service's own forms: the page was opened while another account was signed in. Nothing was changed. Reload the page.",
  identity_in_use: "Sign out first, then sign in with this provider.",
  admin_exists: "The service has an admin, who grants the role to others. No link for the first operator is created.",
  last_admin: "No admin who can sign in would be left. First give another account the role, or enable another admin.",
  last_sign_in_method: "Set a password, add a passkey or link another provider before you remove this one.",
  identity_without_email: "Verify the email with the provider, or register with an email and password.",
  not_found: "The URL or the resource does not exist, or it belongs to another account.",
  release_not_found: "The query is valid, but no release matches it.",
  device_not_found: "The account has no such device. If you wanted to remove it, you do not have to do anything.",
  upload_not_found:
    "The upload does not exist, was published, expired a day after its last byte, or was created by another key or account. Create a new one.",
  method_not_allowed: "`Allow` lists the methods of this URL.",
  email_taken: "Sign in instead, or reset the password.",
  passkey_registered: "The passkey already belongs to this account or to another one. Create a new one.",
  passkey_limit_reached: "An account has at most 20 passkeys. Remove one first.",
  challenge_expired: "A challenge is valid for 15 minutes. Register the device again to get a new one.",
  challenge_used: "A challenge can be used once. Register the device again to get a new one.",
  device_limit_reached: "Remove a device first.",
  device_not_active:
    "The device is pending or invalid, or it is a browser. Answer its challenge first, then register the tokens of Live Activities.",
  no_active_device:
    "The account has no verified device, or the device is not verified. See `GET /api/push/devices` of the account.",
  no_live_activity:
    "No active device of the recipient has registered the Live Activity, or a token that starts one of this type. Nothing was sent.",
  notifications_turned_off:
    "The account's owner does not want notifications of this kind: see `PUT /api/push/preferences`. Nothing was sent.",
  announcement_in_progress:
    "The version is being announced to the devices of another app. Wait until that announcement has ended, or cancel it.",
  upload_offset_mismatch:
    "`offsetBytes` is the number of bytes that have arrived, as in the response to HEAD. Continue from there.",
  upload_incomplete: "Send the rest of the file first: `uploadId` names the upload.",
  upload_limit_reached: "Publish or delete unfinished uploads, or wait until they expire, a day after their last byte.",
  release_conflict:
    "The version is published with different files, which clients and caches may have stored. Publish a new version instead.",
  release_yanked: "The version has been yanked. Publish a new version instead.",
  release_pending:
    "The product's policy requires approvals that this release does not have yet. Another admin than its publisher approves it, in the console or with `homeport release approve`.",
  release_in_use: "Withdraw the release first and remove it later, or repeat the request with `force=true`.",
  confirmation_required:
    "`detail` says what looks like a mistake. If it is intended, repeat the request with `confirmations`: `isNew`, or `isPrerelease`.",
  file_changed: "Nothing was published. Repeat the request.",
  catalog_not_editable:
    "`RELEASE_CATALOG` is a URL, so this service cannot change the catalog. Publish on the machine that has the file.",
  catalog_invalid: "The catalog on disk cannot be read. `detail` says why. Repair it, or restore a backup.",
  catalog_locked: "Another process has held the catalog's lock for a minute. Repeat the request later.",
  request_in_progress:
    "Another request with the same `Idempotency-Key` is being processed, or its process has stopped. Repeat the request after `Retry-After`, the longest that it may take until the key is free. With the embedded database, a start of the service frees it.",
  idempotency_key_used:
    "A request with the same `Idempotency-Key` has succeeded. Its response contained a secret, which is not stored and therefore not sent again.",
  idempotency_key_reused:
    "Another body or query was sent with the same `Idempotency-Key` within 24 hours. Use a new key for each request that is not a repetition.",
  assignment_conflict:
    "`reason` is `linked` if a purchase already belongs to another account, `shared_id` if many customers have one of the App User IDs, `no_customer` if no event names a customer, and `grant` if an operator granted the purchase. Transfer a purchase of another account at the provider, whose next event would otherwise undo it.",
  entitlement_unknown:
    "`known` lists the entitlements in `BILLING_PRODUCTS`. To grant one that no product gives, add an entry for it, or correct its id.",
  grant_too_long: "Support may grant an entitlement for `maxDays` days, and end such a grant. Ask an admin for more.",
  retention_not_configured: "Set `BILLING_PAYLOAD_RETENTION_DAYS`.",
  move_in_progress:
    "The database is being moved to another target, or was moved to one. `homeport db move --cancel` ends the move or undoes it.",
  backup_in_progress: "Another backup is in progress. Wait until it has finished.",
  mirror_not_configured: "Set `RELEASE_MIRROR`.",
  mirror_unavailable: "The mirror's storage does not respond, or refused the request: the log says why.",
  backup_not_configured: "Set `BACKUP_TO`, and for a bucket also the `BACKUP_S3_` variables.",
  backup_failed: "The backup could not be written. `detail` has the reason. No incomplete file is left behind.",
  webhook_limit_reached: "The service already has 50 webhook endpoints. Delete the ones that are not used.",
  webhook_disabled: "Enable the endpoint first, with `PATCH /api/admin/webhooks/{endpointId}`.",
  endpoint_retired: "The `Link` header contains the replacement.",
  precondition_failed:
    "`If-Match` or `If-Unmodified-Since` is no longer true. Start a download from the beginning. Preview a change of releases again, and send the new `ETag`.",
  tus_version_unsupported: "Send `Tus-Resumable: 1.0.0`.",
  payload_too_large: "The body may be at most `limitBytes` bytes long.",
  unsupported_media_type: "`Accept` names the media type to send as `Content-Type`, such as `application/json`.",
  range_not_satisfiable:
    "The range starts after the end of the file, or the request has more than 512 ranges. `Content-Range` contains the file's size. Start the download from the beginning.",
  validation_failed: "`errors` points to each invalid field (JSON Pointer, RFC 6901) and describes the problem.",
  passkey_invalid:
    "`reason` names the check that the passkey failed. Ask for new options and let the user try again; a challenge works once, within five minutes. `credential_unknown`: the passkey was removed from the account. `counter_replayed`: the passkey may have been copied; it is in the account's audit trail.",
  evidence_invalid: "`reason` names the check that the device's evidence failed. Do not send the same evidence again.",
  release_invalid: "`detail` names the fields or files of the release that are not valid. Nothing was published.",
  rollout_invalid: "`detail` says what is wrong with the steps, the times or the limits. Nothing was changed.",
  rollout_not_found: "The rollout's schedule was ended or replaced. List the schedules again.",
  rollout_conflict:
    "The rollout has completed, or the catalog has another percentage, which overrides the schedule. `detail` says which. Set the percentage of the releases instead.",
  signature_invalid:
    "The signature belongs to another file, key or version. `detail` names the file. Nothing was published.",
  policy_unmet:
    "The product has a policy. `detail` says what is missing: a signature, a trusted publisher, an attestation. Nothing was published.",
  attestation_invalid:
    "The Sigstore bundle is not of this file, cannot be verified, or was signed by a workflow that is no publisher of the product. `detail` names the file and what differs. Nothing was published.",
  upload_locked: "Another request is writing to the upload or publishing it. Repeat the request a few seconds later.",
  rate_limited:
    "Wait for the number of seconds in `Retry-After`. `RateLimit` and `RateLimit-Policy` name the limit that was reached. Of `streamsByIp`, the limit is downloads at the same time.",
  internal_error: "The cause is logged with the `requestId`. A retry may succeed.",
  unavailable: "The database cannot be reached. Retry after `Retry-After`.",
  storage_full: "The database's disk is full. Requests that only read still work. Retry after `Retry-After`.",
  overloaded: "The service has too many sign-ins or pages in progress. Retry after `Retry-After`.",
  catalog_unavailable: "The release catalog has not been loaded yet. Retry after `Retry-After`.",
  artifact_unavailable:
    "The release exists, but its file is missing, unreadable or different from what was published. The cause is logged. Retry after `Retry-After`.",
  webhook_not_configured:
    "Set `BILLING_WEBHOOK_AUTHORIZATION` or `BILLING_WEBHOOK_SIGNING_SECRET`. The provider will retry the delivery.",
  test_event_unavailable:
    "No test event of this provider can be sent. `reason` says why: `not_configured` if the secret of its webhook, or of its sandbox, is not set, or `not_signable` if only the provider can sign its events.",
  billing_api_not_configured: "Set the key for the provider's API, which `detail` names.",
  billing_api_failed: "`detail` says what the provider's API returned. Check its key, then repeat the request.",
  provider_unavailable:
    "The keys of the ID token's issuer could not be loaded, so the token was not verified. Send the same token again after `Retry-After` seconds.",
  disk_full: "The bytes of an upload that have arrived are kept. Free space on the catalog's disk, then continue.",
  push_not_configured: "This service has no connection to APNs. Continue without push notifications.",
};
