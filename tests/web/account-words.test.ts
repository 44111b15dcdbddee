import { expect, test } from "vitest";
import { describeStatus } from "@/app/(web)/account/subscription";
import { computerOf, offeredTo, platformFromUserAgent } from "@/app/(web)/download/platform";
import { initialOf } from "@/app/(web)/frame/account-menu";
import { retryMessage } from "@/lib/platform/http/pages/form";
import type { InstallerGroup } from "@/lib/releases/installers";
import { PurchaseStatus } from "@/lib/subscriptions/schema";

const WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36";
const WINDOWS_32 = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0";
const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15";
const LINUX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const LINUX_ARM = "Mozilla/5.0 (X11; Linux aarch64; rv:140.0) Gecko/20100101 Firefox/140.0";
const PHONE = "Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36";
const TABLET = "Mozilla/5.0 (iPhone; CPU iPhone OS 20_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1";

const computerWith = (userAgent: string, hint: string | null) =>
  computerOf({ get: (name) => ({ "user-agent": userAgent, "sec-ch-ua-arch": hint })[name] ?? null });

test.each([
  [WINDOWS, null, "windows", ["x64", "universal", "ia32"]],
  [WINDOWS, '"x86"', "windows", ["x64", "universal", "ia32"]],
  [WINDOWS, '"arm"', "windows", ["arm64", "universal", "x64", "ia32"]],
  [WINDOWS_32, null, "windows", ["ia32"]],
  [MAC, null, "macos", null],
  [MAC, '"x86"', "macos", ["x64", "universal"]],
  [MAC, '"arm"', "macos", ["arm64", "universal", "x64"]],
  [LINUX, null, "linux", ["x64", "universal"]],
  [LINUX_ARM, null, "linux", ["arm64", "universal"]],
  [LINUX, '"arm"', "linux", ["arm64", "universal"]],
] as const)("%s with the hint %s is on %s, which runs %j", (userAgent, hint, platform, builds) => {
  expect(computerWith(userAgent, hint)).toEqual({ platform, builds });
});

test.each([PHONE, TABLET, "curl/8.9.1", ""])("%s is on no computer", (userAgent) => {
  expect([platformFromUserAgent(userAgent), computerWith(userAgent, null)]).toEqual([null, null]);
});

test("a visitor is offered the build that runs best, and on macOS, where that is not known, the universal one or all", () => {
  const offered = (userAgent: string, hint: string | null, ...builds: string[]) => {
    const computer = computerWith(userAgent, hint);
    const group = { product: "core", latest: {}, platform: computer?.platform };
    const groups = builds.map((architecture) => ({ ...group, architecture })) as unknown as InstallerGroup[];
    const other = { ...group, platform: "other", architecture: "x64" } as unknown as InstallerGroup;
    const { groups: chosen, isSure } = offeredTo(computer, [other, ...groups]);
    return [isSure, ...chosen.map(({ architecture }) => architecture)];
  };
  expect(offered(WINDOWS, null, "ia32", "arm64", "x64")).toEqual([true, "x64"]);
  expect(offered(WINDOWS, '"arm"', "ia32", "x64")).toEqual([true, "x64"]);
  expect(offered(WINDOWS_32, null, "x64")).toEqual([false]);
  expect(offered(MAC, null, "x64", "arm64")).toEqual([false, "x64", "arm64"]);
  expect(offered(MAC, null, "x64", "universal")).toEqual([true, "universal"]);
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
