import { expect, test } from "vitest";
import { statusInWords } from "@/app/(web)/account/subscription-words";
import { platformOfAgent } from "@/app/(web)/download/platform";
import { waitInWords } from "@/lib/http/pages/words";
import { LineStatus } from "@/lib/subscriptions/schema";

test.each([
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15", "macos"],
  ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36", "windows"],
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", null],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 20_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1", null],
  ["curl/8.9.1", null],
  ["", null],
])("%s runs on %s", (agent, platform) => {
  expect(platformOfAgent(agent)).toBe(platform);
});

test.each([
  [{ status: "none" }, "You have no subscription."],
  [{ status: "active", willRenew: true, currentPeriodEndsAt: day(3) }, "Active. Renews on 3 Dec 2026."],
  [{ status: "active", accessEndsAt: day(3) }, "Active. Ends on 3 Dec 2026."],
  [{ status: "active", isLifetime: true }, "Yours for good."],
  [
    { status: "trialing", willRenew: true, currentPeriodEndsAt: day(3) },
    "Free trial until 3 Dec 2026. Then it renews.",
  ],
  [{ status: "canceled", accessEndsAt: day(3) }, "Cancelled. You can use it until 3 Dec 2026."],
  [{ status: "grace_period", accessEndsAt: day(3) }, /^The last payment failed; you can use it until 3 Dec 2026\./],
  [{ status: "billing_retry" }, /^Interrupted: the last payment failed\./],
  [{ status: "paused", resumesAt: day(3) }, "Paused. Goes on from 3 Dec 2026."],
  [{ status: "paused" }, "Paused."],
  [{ status: "expired", accessEndsAt: day(3) }, "Ended on 3 Dec 2026."],
  [{ status: "revoked", refundedAt: day(3) }, "Refunded or revoked on 3 Dec 2026."],
] as [Partial<LineStatus>, string | RegExp][])("a subscription of %j is told in words", (known, words) => {
  const fields = Object.keys(LineStatus.shape).map((name) => [name, null]);
  expect(statusInWords({ ...Object.fromEntries(fields), ...known })).toMatch(words);
});

test.each([
  [1, "Try again in a minute."],
  [60, "Try again in a minute."],
  [61, "Try again in 2 minutes."],
  [7_140, "Try again in 119 minutes."],
  [86_400, "Try again in 24 hours."],
])("%i seconds are told in words", (seconds, words) => {
  expect(waitInWords(seconds)).toBe(words);
});

function day(date: number): Date {
  return new Date(Date.UTC(2026, 11, date, 12));
}
