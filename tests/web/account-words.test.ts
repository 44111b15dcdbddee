import { expect, test } from "vitest";
import { describeStatus } from "@/app/(web)/account/subscription";
import { platformFromUserAgent } from "@/app/(web)/download/platform";
import { initialOf } from "@/app/(web)/frame/account-menu";
import { retryMessage } from "@/lib/platform/http/pages/form";
import { PurchaseStatus } from "@/lib/subscriptions/schema";

test.each([
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15", "macos"],
  ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36", "windows"],
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "linux"],
  ["Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36", null],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 20_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1", null],
  ["curl/8.9.1", null],
  ["", null],
])("%s runs on %s", (agent, platform) => {
  expect(platformFromUserAgent(agent)).toBe(platform);
});

test.each([
  ["ann", "A"],
  ["👍🏽 Ann", "👍🏽"],
  ["👩‍🔬", "👩‍🔬"],
  ["émile", "É"],
  ["\u202Eenna", "E"],
  ["", ""],
])("the avatar of %s is %s", (name, initial) => {
  expect(initialOf(name)).toBe(initial);
});

test.each([
  [{ status: "none" }, "You have no subscription."],
  [{ status: "active", willRenew: true, currentPeriodEndsAt: day(3) }, "Active. Renews on 3 Dec 2026."],
  [{ status: "active", accessEndsAt: day(3) }, "Active. Ends on 3 Dec 2026."],
  [{ status: "active", isLifetime: true }, "Lifetime access."],
  [
    { status: "trialing", willRenew: true, currentPeriodEndsAt: day(3) },
    "Free trial until 3 Dec 2026. Renews automatically afterwards.",
  ],
  [{ status: "canceled", accessEndsAt: day(3) }, "Canceled. You have access until 3 Dec 2026."],
  [{ status: "grace_period", accessEndsAt: day(3) }, /^The last payment failed. You have access until 3 Dec 2026\./],
  [{ status: "billing_retry" }, /^The last payment failed, and access has ended\./],
  [{ status: "paused", resumesAt: day(3) }, "Paused. Resumes on 3 Dec 2026."],
  [{ status: "paused" }, "Paused."],
  [{ status: "expired", accessEndsAt: day(3) }, "Expired on 3 Dec 2026."],
  [{ status: "revoked", refundedAt: day(3) }, "Refunded or revoked on 3 Dec 2026."],
] as [Partial<PurchaseStatus>, string | RegExp][])("a subscription of %j is described to its owner", (known, words) => {
  const fields = Object.keys(PurchaseStatus.shape).map((name) => [name, null]);
  expect(describeStatus({ ...Object.fromEntries(fields), ...known }, "en")).toMatch(words);
});

test.each([
  [1, "Try again in a minute."],
  [60, "Try again in a minute."],
  [61, "Try again in 2 minutes."],
  [7_140, "Try again in 119 minutes."],
  [86_400, "Try again in 24 hours."],
])("for a limit of %i seconds a form shows when to try again", (seconds, words) => {
  expect(retryMessage(seconds)).toBe(words);
});

function day(date: number): Date {
  return new Date(Date.UTC(2026, 11, date, 12));
}
