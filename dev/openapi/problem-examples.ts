import type { ErrorCode } from "../../lib/errors";

export const EXAMPLE_REQUEST_ID = "3f0c8f5e-6f0a-4a55-9d5a-0b1d3f2e7c11";

const field = (pointer: string, code: string, detail: string) => ({ errors: [{ pointer, code, detail }] });

/** `detail` and the further fields of the examples of problem documents. */
export const PROBLEM_DETAILS: Partial<Record<ErrorCode, { detail?: string; [field: string]: unknown }>> = {
  invalid_query: {
    detail: "platform, product and architecture are required together.",
    ...field("?architecture", "required", "Is required"),
    missing: ["architecture"],
    allowed: { architecture: ["x64", "arm64", "universal"] },
  },
  validation_failed: field("/email", "invalid_format", "Must be an email address"),
  second_factor_required: {
    challenge: "0dXJpc3RzIG9mIHRoZSB3b3JsZCwgdW5pdGUgbm93IQ",
    expiresAt: "2026-11-20T09:10:00.000Z",
    factors: ["totp", "recovery_code"],
  },
  evidence_invalid: { detail: "The assertion's counter has not increased.", reason: "counter_replayed" },
  device_limit_reached: { detail: "An account can have at most 20 devices." },
  payload_too_large: { detail: "At most 16384 bytes.", limitBytes: 16384 },
  request_in_progress: { detail: "If its process has stopped, the request can be repeated in 42 s." },
  assignment_conflict: {
    detail: "The customer has another account. Transfer the purchases at the provider.",
    reason: "linked",
  },
  billing_api_not_configured: { detail: "BILLING_API_KEY is not set: the provider's API needs it." },
  billing_api_failed: { detail: "Stripe returned status 401. Check BILLING_STRIPE_API_KEY." },
  endpoint_retired: { detail: "Use /api/subscription/status instead." },
};
